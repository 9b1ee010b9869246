import { readFileSync } from 'node:fs';
import type { InferenceSession, TensorConstructor } from 'onnxruntime-node';
import { InferError } from '../../streams/inference/error.ts';
import { graphKinds } from './graph-kinds.ts';
import type { ModelPorts } from './worker-protocol.ts';

export interface LoadedSession {
  readonly session: InferenceSession;
  /** The class of the tensors that it takes. */
  readonly Tensor: TensorConstructor;
}

/**
 * A session of the model at `path`, in the thread that calls it: only ever a worker, since loading and running block it. Rejects with an
 * InferError: UNIMPLEMENTED for a datatype that onnxruntime-node does not know, else INTERNAL with ONNX Runtime's reason on one line.
 *
 * onnxruntime-node hands 16-bit floats over as Uint16Array only where the engine has no Float16Array; with one, it fails. So that goes
 * first. ONNX Runtime's own log is off: what it would print is in the errors.
 */
export const loadSession = async (path: string, options: InferenceSession.SessionOptions): Promise<LoadedSession> => {
  Reflect.deleteProperty(globalThis, 'Float16Array');
  try {
    const { env, InferenceSession: Session, Tensor } = await import('onnxruntime-node');
    env.logLevel = 'fatal';
    return { session: await Session.create(path, { ...options, logSeverityLevel: 4 }), Tensor };
  } catch (error) {
    const reason = reasonOf(error);
    const name = reason.startsWith('Unsupported data type') ? uncarriedIn(path) : undefined;
    throw name === undefined
      ? new InferError('INTERNAL', reason, { cause: error })
      : new InferError('UNIMPLEMENTED', name, { cause: error });
  }
};

/**
 * The tensors that batches ask for must be tensors in the model too.
 *
 * @throws InferError UNIMPLEMENTED
 */
export const requireTensors = (
  { inputMetadata, outputMetadata }: InferenceSession,
  { inputs, outputs }: ModelPorts,
  path: string,
): void => {
  for (const { name, isTensor } of [...inputMetadata, ...outputMetadata]) {
    if (isTensor || ![...inputs, ...outputs].some((port) => port.name === name)) continue;
    throw new InferError('UNIMPLEMENTED', uncarried(name, kindIn(path, name)));
  }
};

export const kindIn = (path: string, name: string): string => graphKinds(readFileSync(path)).get(name) ?? 'value of unknown type';

export const uncarried = (name: string, kind: string): string => `'${name}' is a ${kind}, which onnxruntime-node cannot carry`;

/** What onnxruntime-node says, on one line. */
export const reasonOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).replace(/\s*\n\s*/g, ' ').trim();

/** What is behind onnxruntime-node's `Unsupported data type: 16`. */
const uncarriedIn = (path: string): string | undefined => {
  for (const [name, kind] of graphKinds(readFileSync(path))) {
    if (uncarriedTensor.test(kind)) return uncarried(name, kind);
  }
  return undefined;
};

const uncarriedTensor = /^(BF16|COMPLEX\d+|FLOAT[48]\w+|UNDEFINED|element type \d+) tensor$/;
