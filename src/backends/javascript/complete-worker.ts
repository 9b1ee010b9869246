import { parentPort, workerData } from 'node:worker_threads';
import { describeFault } from './describe-fault.ts';
import { kindOf } from './kind-of.ts';
import { loadModel } from './load-model.ts';
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
    if (typeof config !== 'object' || config === null || Array.isArray(config)) {
      throw new ModelError(`autoCompleteConfig returned ${kindOf(config)}: expected a config`);
    }
    // What has no form in a config, such as a function, is found here.
    return { kind: 'completed', config: structuredClone(config) };
  } catch (error) {
    return { kind: 'not-loaded', error: wireErrorOf(error, () => ({ code: 'INTERNAL', message: describeFault(error, start, []) })) };
  }
};

const log = new LogLines(start.logMarks, post);
log.capture(process.stdout, 'info');
log.capture(process.stderr, 'warning');
// The thread has nothing left to do, and what it is to say still waits.
process.once('beforeExit', () => {
  const message = 'importing its file, or autoCompleteConfig, waits for something that never comes';
  post({ kind: 'not-loaded', error: { code: 'INTERNAL', message } });
});

void complete().then(post);
