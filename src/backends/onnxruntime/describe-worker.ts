import { parentPort, workerData } from 'node:worker_threads';
import type { InferenceSession } from 'onnxruntime-node';
import { kindIn, loadSession, uncarried } from './load-session.ts';
import { datatypeOf } from './ort-datatypes.ts';
import { type DescribeAnswer, type DescribedValue, type DescribeStart, notLoaded } from './worker-protocol.ts';

const { path }: DescribeStart = workerData;

const describeValue = (metadata: InferenceSession.ValueMetadata): DescribedValue => {
  const { name } = metadata;
  const datatype = metadata.isTensor ? datatypeOf(metadata.type) : undefined;
  if (!metadata.isTensor || datatype === undefined) return { name, tensor: undefined, why: uncarried(name, kindIn(path, name)) };
  return { name, tensor: { name, datatype, shape: metadata.shape.map((size) => (typeof size === 'number' ? size : -1)) } };
};

const describe = async (): Promise<DescribeAnswer> => {
  try {
    // Nothing runs, so nothing needs to be optimized.
    const { session } = await loadSession(path, { graphOptimizationLevel: 'disabled', intraOpNumThreads: 1 });
    return { kind: 'described', inputs: session.inputMetadata.map(describeValue), outputs: session.outputMetadata.map(describeValue) };
  } catch (error) {
    return notLoaded(error);
  }
};

parentPort?.postMessage(await describe());
