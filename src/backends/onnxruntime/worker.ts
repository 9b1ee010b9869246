import { parentPort, workerData } from 'node:worker_threads';
import { loadSession, requireTensors } from './load-session.ts';
import { SlotRunner } from './slot-runner.ts';
import { type FromWorker, notLoaded, type ToWorker, type WorkerStart } from './worker-protocol.ts';

const { path, options, ports, slots }: WorkerStart = workerData;

const post = (message: FromWorker): void => parentPort?.postMessage(message);

/** One batch after the other, so that the time of one is not counted for the next. At most one entry for each slot. */
const waiting: SlotRunner[] = [];
let isRunning = false;

const runWaiting = async (): Promise<void> => {
  if (isRunning) return;
  isRunning = true;
  for (let runner = waiting.shift(); runner !== undefined; runner = waiting.shift()) post(await runner.run());
  isRunning = false;
};

const serve = async (): Promise<void> => {
  const loaded = await loadSession(path, options);
  requireTensors(loaded.session, ports, path);
  const runners = slots.map((shared, index) => new SlotRunner(index, shared, ports, loaded, post));
  parentPort?.on('message', (message: ToWorker) => {
    const runner = runners[typeof message === 'number' ? message : message.slot];
    if (runner === undefined) return;
    if (typeof message !== 'number') {
      runner.useInputs(message.inputs);
      return;
    }
    waiting.push(runner);
    void runWaiting();
  });
  post({ kind: 'ready' });
};

await serve().catch((error: unknown) => post(notLoaded(error)));
