import { InferError } from '../../streams/inference/error.ts';
import type { ModelConfigDocument } from '../../streams/inference/model-spec.ts';
import { toDocument } from './document.ts';
import type { ModelConfig } from './model-config.ts';
import { modelConfigType } from './proto.ts';

const schedulers = ['dynamic_batching', 'sequence_batching', 'ensemble_scheduling'] as const;

/** What code of a model may change in its config; the rest stays as it was written, in silence, as in Triton. */
const completable = ['max_batch_size', 'input', 'output', 'model_transaction_policy', ...schedulers] as const;

type Scheduler = (typeof schedulers)[number];

const schedulerOf = (config: ModelConfigDocument): Scheduler | undefined => schedulers.find((name) => config[name] !== undefined);

/** @throws InferError INVALID_ARGUMENT for what is no config */
const readDocument = (model: string, document: ModelConfigDocument): ModelConfigDocument => {
  const given = Object.fromEntries(completable.flatMap((name) => (document[name] === undefined ? [] : [[name, document[name]]])));
  try {
    return toDocument(modelConfigType, modelConfigType.fromObject(given));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new InferError('INVALID_ARGUMENT', `the model's code has completed the config of '${model}' with no config: ${reason}`, {
      cause: error,
    });
  }
};

/**
 * The config with what the model's own code has put into it.
 *
 * @throws InferError INVALID_ARGUMENT where that is no config, or chooses another scheduler than is written
 */
export const completeByModel = (config: ModelConfig, completed: ModelConfigDocument): ModelConfig => {
  const document = readDocument(config.name, completed);
  const [written, chosen] = [schedulerOf({ ...config }), schedulerOf(document)];
  if (written !== undefined && chosen !== undefined && written !== chosen) {
    throw new InferError('INVALID_ARGUMENT', `Cannot update scheduling choice from ${written} to ${chosen} when auto-completing.`);
  }
  const changes = Object.entries(document).filter(([name]) => isCompletable(name) && (written === undefined || !isScheduler(name)));
  return { ...config, ...Object.fromEntries(changes) };
};

const isScheduler = (name: string): boolean => schedulers.some((each) => each === name);

const isCompletable = (name: string): boolean => completable.some((each) => each === name);
