import { parentPort, workerData } from 'node:worker_threads';
import { NumberRing } from '../workers/number-ring.ts';
import { WireEnd } from '../workers/wire-end.ts';
import { describeFault } from './describe-fault.ts';
import { loadModel } from './load-model.ts';
import { LogLines } from './log-lines.ts';
import type { LoadContext } from './model-context.ts';
import { type Model, ModelError } from './model-module.ts';
import { ModelRunner } from './model-runner.ts';
import { Questions } from './questions.ts';
import { textOf, toModelError, wireErrorOf } from './wire-error.ts';
import { WorkerCalls } from './worker-calls.ts';
import { WorkerMetrics } from './worker-metrics.ts';
import { workerPorts } from './worker-ports.ts';
import type { FromWorker, Reply, ToWorker, WorkerStart } from './worker-protocol.ts';

const start: WorkerStart = workerData;

const post = (message: FromWorker, transfer?: readonly ArrayBuffer[]): void => wire.send(message, transfer);

let runner: ModelRunner | undefined;

const wire: WireEnd<ToWorker, FromWorker> = new WireEnd({
  incoming: new NumberRing(start.toWorker),
  outgoing: new NumberRing(start.fromWorker),
  post: (message, transfer) => parentPort?.postMessage(message, transfer),
  wakes: 'at-once',
  onNumber: (message) => runner?.receiveNumber(message),
  onMessage: (message) => {
    // Answers to what `load` asks come before there is a runner.
    if (runner !== undefined) runner.receive(message);
    else if (message.kind === 'reply') answer(message);
  },
});

const log = new LogLines(start.logMarks, post);
const questions = new Questions();

const context: LoadContext = {
  modelName: start.modelName,
  modelVersion: start.modelVersion,
  config: start.config,
  parameters: start.parameters,
  instance: start.instance,
  modelDirectory: start.modelDirectory,
  versionDirectory: start.versionDirectory,
  logger: {
    error: (message) => log.write('error', message),
    warning: (message) => log.write('warning', message),
    info: (message) => log.write('info', message),
    verbose: (message, level = 1) => log.write(Number.isSafeInteger(level) ? level : 1, message),
  },
  metrics: new WorkerMetrics(post, questions, start.metricMarks),
  isModelReady: async (model, version = '') => {
    if (typeof model !== 'string' || typeof version !== 'string')
      throw new ModelError('isModelReady: expected name and version as strings');
    return (await questions.ask((question) => post({ kind: 'ask-ready', question, model, version }))) === true;
  },
};

const clockOf = (offsetMs: number | undefined): (() => number) | undefined =>
  offsetMs === undefined ? undefined : () => Number(process.hrtime.bigint()) / 1e6 - offsetMs;

const unload = async (model: Model): Promise<void> => {
  try {
    await model.unload?.();
  } catch (error) {
    log.write('error', `unload failed: ${textOf(error)}`);
  }
  post({ kind: 'unloaded' });
};

const serve = async (): Promise<void> => {
  log.capture(process.stdout, 'info');
  log.capture(process.stderr, 'warning');
  parentPort?.on('message', (message) => wire.receive(message));
  // A model may close it, and then nobody can speak with it any more: the instance is opened again.
  parentPort?.once('close', () => process.exit(1));
  const model = await loadModel(start);
  try {
    await model.load?.(context);
  } catch (error) {
    const { message, code } = wireErrorOf(error, () => ({ code: 'INTERNAL', message: describeFault(error, start, []) }));
    post({ kind: 'not-loaded', error: { code, message } });
    return;
  }
  runner = new ModelRunner({
    model,
    ports: workerPorts(start.ports),
    load: context,
    calls: new WorkerCalls(post),
    questions,
    concurrency: start.concurrency,
    clock: clockOf(start.clockOffsetMs),
    post,
    postNumber: (message) => wire.sendNumber(message),
    onUnload: () => void unload(model),
  });
  post({ kind: 'ready' });
};

const answer = ({ question, value, error }: Reply): void => {
  questions.answer(question, value, error === undefined ? undefined : toModelError(error));
};

await serve().catch((error: unknown) =>
  post({ kind: 'not-loaded', error: wireErrorOf(error, (message) => ({ code: 'INTERNAL', message })) }),
);
