import { parentPort, workerData } from 'node:worker_threads';
import { InferenceSession, Tensor } from 'onnxruntime-node';

export interface NaiveJob {
  readonly job: number;
  readonly audio: Float32Array;
  readonly context: Float32Array;
  readonly state: Float32Array;
}

export interface NaiveAnswer {
  readonly job: number;
  readonly speech: Float32Array;
  readonly context: Float32Array;
  readonly state: Float32Array;
}

const session = await InferenceSession.create(workerData, { intraOpNumThreads: 1, interOpNumThreads: 1 });

const floatsOf = (tensor: Tensor | undefined): Float32Array => {
  if (!(tensor?.data instanceof Float32Array)) throw new Error('an output of no floats');
  return tensor.data;
};

let last: Promise<void> = Promise.resolve();

const run = async ({ job, audio, context, state }: NaiveJob): Promise<void> => {
  const outputs = await session.run({
    AUDIO: new Tensor('float32', audio, [1, 512]),
    CONTEXT: new Tensor('float32', context, [1, 64]),
    STATE: new Tensor('float32', state, [1, 2, 128]),
  });
  const answer: NaiveAnswer = {
    job,
    speech: floatsOf(outputs.SPEECH),
    context: floatsOf(outputs.CONTEXT_OUT),
    state: floatsOf(outputs.STATE_OUT),
  };
  parentPort?.postMessage(answer);
};

parentPort?.on('message', (job: NaiveJob) => {
  last = last.then(() => run(job));
});
parentPort?.postMessage('ready');
