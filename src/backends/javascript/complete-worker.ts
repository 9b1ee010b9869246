import { parentPort, workerData } from 'node:worker_threads';
import { describeFault, loadModel } from './load-model.ts';
import { LogLines } from './log-lines.ts';
import { ModelError } from './model-module.ts';
import { wireErrorOf } from './wire-error.ts';
import type { CompleteAnswer, CompleteStart } from './worker-protocol.ts';

const start: CompleteStart = workerData;

const post = (message: CompleteAnswer): void => parentPort?.postMessage(message);

const complete = async (): Promise<CompleteAnswer> => {
  try {
    const model = await loadModel(start);
    if (model.autoCompleteConfig === undefined) return { kind: 'completed', config: start.config };
    const config = await model.autoCompleteConfig(start.config);
    if (typeof config !== 'object') throw new ModelError(`autoCompleteConfig returned ${typeof config}: expected a config`);
    return { kind: 'completed', config };
  } catch (error) {
    return { kind: 'not-loaded', error: wireErrorOf(error, () => ({ code: 'INTERNAL', message: describeFault(error, start, []) })) };
  }
};

const log = new LogLines(start.logMarks, post);
log.capture(process.stdout, 'info');
log.capture(process.stderr, 'warning');
post(await complete());
