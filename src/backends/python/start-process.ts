import { randomUUID } from 'node:crypto';
import { machineScheduler } from '../../streams/flow/clock.ts';
import { InferError } from '../../streams/inference/error.ts';
import { jsonText } from '../../streams/inference/json/json-text.ts';
import type { Log } from '../../streams/inference/log.ts';
import type { Interpreter } from './find-python.ts';
import { type Frame, fromProcess, toProcess } from './frames.ts';
import { type ProcessEnd, PythonProcess } from './python-process.ts';
import type { PythonSettings } from './python-settings.ts';

export interface StartProcessConfig {
  readonly name: string;
  readonly interpreter: Interpreter;
  readonly settings: PythonSettings;
  readonly log: Log;
  /** What it is to do; sent once it listens. */
  readonly start: (memoryPrefix: string) => Readonly<Record<string, unknown>>;
  /** What its model has given back for it. */
  readonly onReady: (result: unknown) => void;
  /** Every other message. */
  readonly onFrame: (frame: Frame, payload: Buffer) => void;
  /** It did not come to be ready, or it has ended: once. After `endWithin` without an error. */
  readonly onEnd: (error: InferError | undefined) => void;
}

export interface StartedProcess {
  readonly process: PythonProcess;
  readonly memoryPrefix: string;
}

/** Integers past 2^53 become bigint. */
const exactIntegers = (_key: string, value: unknown, { source }: { readonly source?: string }): unknown =>
  typeof value === 'number' && !Number.isSafeInteger(value) && source !== undefined && /^-?\d+$/.test(source) ? BigInt(source) : value;

/** `weir_start.py` ends with it when numpy cannot be imported. */
const noNumpy = 73;

/** Starts a process and tells it what to do. Its model may take as long as it likes to be ready; only until it listens it has a limit. */
export const startProcess = (config: StartProcessConfig): StartedProcess => {
  const { name, interpreter, settings, log } = config;
  const memoryPrefix = `${settings.prefix}${randomUUID()}_`;
  let state: 'starting' | 'loading' | 'ready' | 'ended' = 'starting';

  const end = (error: InferError | undefined): void => {
    if (state === 'ended') return;
    state = 'ended';
    timer.unsubscribe();
    config.onEnd(error);
  };

  const process = new PythonProcess({
    name,
    interpreter,
    memoryPrefix,
    log,
    onFrame: (frame, payload) => {
      switch (frame.kind) {
        case fromProcess.alive:
          timer.unsubscribe();
          state = 'loading';
          process.sendText(toProcess.start, 0, jsonText(config.start(memoryPrefix)));
          return;
        case fromProcess.ready:
          state = 'ready';
          config.onReady(JSON.parse(payload.toString(), exactIntegers));
          return;
        case fromProcess.failed:
          end(new InferError('INTERNAL', payload.toString()));
          process.endWithin(settings.timeoutMs);
          return;
        default:
          config.onFrame(frame, payload);
      }
    },
    onEnd: (ended) => end(ended.wasTold ? undefined : deathOf(config, state, ended)),
  });

  const timer = machineScheduler.schedule(() => {
    const seconds = settings.timeoutMs / 1000;
    const message =
      `the Python of model instance '${name}' (${interpreter.command}) did not start within ${seconds} s; ` +
      '--backend-config=python,stub-timeout-seconds=<n> gives it longer';
    end(new InferError('UNAVAILABLE', message));
    process.endWithin(0);
  }, settings.timeoutMs);

  return { process, memoryPrefix };
};

const deathOf = ({ name, interpreter }: StartProcessConfig, state: string, { reason, status }: ProcessEnd): InferError => {
  if (state === 'starting') {
    if (status === noNumpy) {
      return new InferError('UNAVAILABLE', `model instance '${name}' needs numpy, which its Python (${interpreter.command}) does not have`);
    }
    return new InferError('UNAVAILABLE', `unable to start the Python of model instance '${name}' (${interpreter.command}): ${reason}`);
  }
  return new InferError('INTERNAL', `Stub process '${name}' is not healthy.`, { cause: new Error(reason), reason: 'BACKEND' });
};
