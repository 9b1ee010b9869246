import type { ModelFiles } from '../../streams/inference/backend.ts';
import { InferError } from '../../streams/inference/error.ts';
import type { Log } from '../../streams/inference/log.ts';
import type { ModelConfigDocument } from '../../streams/inference/model-spec.ts';
import { StoppableWorker } from '../workers/stoppable-worker.ts';
import { workerScript } from '../workers/worker-script.ts';
import { LogMarks } from './log-lines.ts';
import type { CompleteAnswer, CompleteStart } from './worker-protocol.ts';
import { writeLogLine } from './write-log-line.ts';

/**
 * The config after the model's `autoCompleteConfig`, in a worker that ends with it; as it is for a model that has none.
 *
 * Rejects with an InferError for a file that cannot be imported, and for what the model throws.
 */
export const completeConfig = (files: ModelFiles, config: ModelConfigDocument, log: Log): Promise<ModelConfigDocument> =>
  new Promise((resolve, reject) => {
    const { modelName, modelDirectory, versionDirectory, modelFile } = files;
    const marks = new LogMarks();
    const refuse = (reason: string, code: InferError['code'], cause?: unknown): void =>
      reject(new InferError(code, `unable to load model '${modelName}': ${reason}`, { cause }));
    const data: CompleteStart = { modelDirectory, versionDirectory, modelFile, config: { ...config }, logMarks: marks.shared };
    const worker = new StoppableWorker<never, CompleteAnswer>({
      script: workerScript('complete-worker', import.meta.url),
      name: `complete ${modelName}`,
      data,
      onMessage: (answer) => {
        if (answer.kind === 'log') {
          marks.written();
          writeLogLine(log, modelName, answer);
          return;
        }
        worker.leave();
        worker.stop();
        if (answer.kind === 'completed') resolve(answer.config);
        else refuse(answer.error.message, answer.error.code);
      },
      onDeath: (reason) => refuse(reason.message, 'INTERNAL', reason),
    });
    worker.enter();
  });
