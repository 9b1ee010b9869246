import { parentPort, workerData } from 'node:worker_threads';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { inputBytes } from '../load/messages/tensors.ts';
import { vadModel, vadQuestion } from './repository.ts';

/** Everything that one loop needs; plain data, since it crosses to a worker thread. */
export interface BareLoop {
  readonly rows: number;
  readonly warmUpMs: number;
  readonly measureMs: number;
}

/** Rows per second of the voice detector with nothing around it: one batch after another, in one thread. */
const runBareLoop = async ({ rows, warmUpMs, measureMs }: BareLoop): Promise<number> => {
  const session = await InferenceSession.create(vadModel, { intraOpNumThreads: 1, interOpNumThreads: 1 });
  const { inputs } = vadQuestion('', rows);
  const bytes = inputBytes(vadQuestion('', rows));
  const feeds: Record<string, Tensor> = {};
  for (const [index, { name, shape }] of inputs.entries()) {
    const { buffer, byteOffset, byteLength } = bytes[index] ?? Buffer.alloc(0);
    feeds[name] = new Tensor('float32', new Float32Array(buffer, byteOffset, byteLength / 4), shape);
  }
  const runsFor = async (ms: number): Promise<number> => {
    const began = performance.now();
    let runs = 0;
    while (performance.now() - began < ms) {
      await session.run(feeds);
      runs++;
    }
    return (runs * rows * 1000) / (performance.now() - began);
  };
  await runsFor(warmUpMs);
  return runsFor(measureMs);
};

parentPort?.postMessage(await runBareLoop(workerData));
