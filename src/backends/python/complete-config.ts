import { basename } from 'node:path';
import type { ModelFiles } from '../../streams/inference/backend.ts';
import { InferError } from '../../streams/inference/error.ts';
import type { ModelConfigDocument } from '../../streams/inference/model-spec.ts';
import { type Environments, environmentParameter } from './find-python.ts';
import { fromProcess, toProcess } from './frames.ts';
import type { PythonBackendParts } from './instance-life.ts';
import { completionStart } from './instance-start.ts';
import { ModelMetrics } from './model-metrics.ts';
import { answerQuestion } from './process-questions.ts';
import { startProcess } from './start-process.ts';
import { writeLog } from './write-log.ts';

/**
 * What the model's `auto_complete_config` makes of its config, in a process that does nothing else; the same config where it has none. Rejects with an
 * InferError that has the text of what it raised.
 */
export const completeConfig = async (
  files: ModelFiles,
  config: ModelConfigDocument,
  parts: PythonBackendParts,
  environments: Environments,
): Promise<ModelConfigDocument> => {
  const interpreter = await environments.take(files, parameterOf(config, environmentParameter));
  const metrics = new ModelMetrics(parts.metrics);
  return new Promise((resolve, reject) => {
    const { process } = startProcess({
      name: files.modelName,
      interpreter,
      settings: parts.settings,
      log: parts.log,
      start: () => completionStart(files, basename(files.versionDirectory), config),
      onReady: (result) => {
        process.endWithin(0);
        resolve(isDocument(result) ? result : config);
      },
      onFrame: (frame, payload) => {
        if (frame.kind === fromProcess.log) writeLog(parts.log, frame.flags, payload.toString());
        if (frame.kind !== fromProcess.ask) return;
        const answer = answerQuestion(payload.toString(), parts.calls, metrics);
        if (frame.id > 0) process.sendText(toProcess.reply, frame.id, answer);
      },
      onEnd: (error) => {
        interpreter.release();
        metrics.removeAll();
        reject(error ?? new InferError('INTERNAL', `the process that completes the config of '${files.modelName}' has ended`));
      },
    });
  });
};

const parameterOf = ({ parameters }: ModelConfigDocument, key: string): string | undefined => {
  const parameter = isDocument(parameters) ? parameters[key] : undefined;
  const value = isDocument(parameter) ? parameter.string_value : undefined;
  return typeof value === 'string' ? value : undefined;
};

const isDocument = (value: unknown): value is ModelConfigDocument => typeof value === 'object' && value !== null && !Array.isArray(value);
