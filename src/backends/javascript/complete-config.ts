import { machineScheduler } from '../../streams/flow/clock.ts';
import type { ModelFiles } from '../../streams/inference/backend.ts';
import { InferError } from '../../streams/inference/error.ts';
import type { Log } from '../../streams/inference/log.ts';
import type { ModelConfigDocument } from '../../streams/inference/model-spec.ts';
import { StoppableWorker } from '../workers/stoppable-worker.ts';
import { workerScript } from '../workers/worker-script.ts';
import { MessageMarks } from './message-marks.ts';
import { loadTimeoutText, modelSettings } from './model-settings.ts';
import type { CompleteAnswer, CompleteStart } from './worker-protocol.ts';
import { writeLogLine } from './write-log-line.ts';

type Answer = Exclude<CompleteAnswer, { readonly kind: 'log' }>;

/**
 * The config after the model's `autoCompleteConfig`, in a worker that ends with it; as it is for a model that has none.
 *
 * Rejects with an InferError for a file that cannot be imported, for what the model throws, and when it takes longer than a load may.
 */
export const completeConfig = async (files: ModelFiles, config: ModelConfigDocument, log: Log): Promise<ModelConfigDocument> => {
  const { loadTimeoutMs } = modelSettings(textParameters(config));
  return new Promise((resolve, reject) => {
    const { modelName, modelDirectory, versionDirectory, modelFile } = files;
    const marks = new MessageMarks();
    const refuse = (reason: string, code: InferError['code'], cause?: unknown): void =>
      reject(new InferError(code, `unable to load model '${modelName}': ${reason}`, { cause }));
    const finish = (answer: Answer): void => {
      deadline?.unsubscribe();
      worker.leave();
      worker.stop();
      if (answer.kind === 'completed') resolve(answer.config);
      else refuse(answer.error.message, answer.error.code);
    };
    const data: CompleteStart = { modelDirectory, versionDirectory, modelFile, config: { ...config }, logMarks: marks.shared };
    const worker = new StoppableWorker<never, unknown>({
      script: workerScript('complete-worker', import.meta.url),
      name: `complete ${modelName}`,
      data,
      onMessage: (message) => {
        if (!isOwn(message)) return;
        if (message.kind !== 'log') finish(message);
        else {
          marks.read();
          writeLogLine(log, modelName, message);
        }
      },
      onDeath: (reason) => {
        deadline?.unsubscribe();
        refuse(reason.message, 'INTERNAL', reason);
      },
    });
    worker.enter();
    const onDeadline = (): void => {
      worker.kill();
      refuse(loadTimeoutText(loadTimeoutMs), 'INTERNAL');
    };
    const deadline = loadTimeoutMs === 0 ? undefined : machineScheduler.schedule(onDeadline, loadTimeoutMs);
  });
};

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === 'object' && value !== null;

/** `parameters` of a config as it is written: key to `{ string_value }`. */
const textParameters = ({ parameters }: ModelConfigDocument): ReadonlyMap<string, string> => {
  const texts = new Map<string, string>();
  if (!isObject(parameters)) return texts;
  for (const [key, value] of Object.entries(parameters)) {
    if (isObject(value) && typeof value.string_value === 'string') texts.set(key, value.string_value);
  }
  return texts;
};

const ownKinds: Readonly<Record<CompleteAnswer['kind'], true>> = { completed: true, 'not-loaded': true, log: true };

/** Packages that a model imports can post to the thread's parent too. */
const isOwn = (message: unknown): message is CompleteAnswer =>
  isObject(message) && typeof message.kind === 'string' && Object.hasOwn(ownKinds, message.kind);
