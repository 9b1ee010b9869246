import type { ModelSignature } from '../../streams/inference/backend.ts';
import type { ModelSpec } from '../../streams/inference/model-spec.ts';
import type { Tensor } from '../../streams/tensors/tensor.ts';
import { compileBatching } from './compile-batching.ts';
import { compileEnsembling } from './compile-ensembling.ts';
import { compileGroup } from './compile-groups.ts';
import { compileSequences } from './compile-sequences.ts';
import { compileBatchInput, compileBatchOutput, compileInputs, compileOutputs } from './compile-tensors.ts';
import { toDocument } from './document.ts';
import type { ModelConfig } from './model-config.ts';
import { modelConfigType } from './proto.ts';
import { batchOptionsOf, endsIdleWithStep } from './weir-parameters.ts';

export interface CompileConfig {
  readonly version: string;
  readonly signature: ModelSignature | undefined;
  /** By output. */
  readonly labels: readonly (readonly string[])[];
  /** By state. */
  readonly initials: readonly Tensor[];
  /** Where the config sets no `max_queue_size`. */
  readonly defaultMaxQueueSize: number;
}

/** Turns a complete and checked config into what running the version needs, but for its warm-ups, which are held against it. */
export const compile = (config: ModelConfig, options: CompileConfig): ModelSpec => {
  const { version, signature, labels, initials, defaultMaxQueueSize } = options;
  const { dynamic_batching: batching } = config;
  const parameters = new Map(Object.entries(config.parameters).map(([key, { string_value }]) => [key, string_value]));
  return {
    name: config.name,
    version,
    platform: config.platform,
    backend: config.backend,
    maxBatchSize: config.max_batch_size,
    inputs: compileInputs(config, signature),
    outputs: compileOutputs(config, signature, labels),
    dynamicBatching: batching === undefined ? undefined : compileBatching(batching, defaultMaxQueueSize),
    sequenceBatching: compileSequences(config, { initials, endsIdleWithStep: endsIdleWithStep(parameters) }),
    ensemble: config.ensemble_scheduling === undefined ? undefined : compileEnsembling(config.ensemble_scheduling),
    batchOptions: batchOptionsOf(parameters),
    batchInputs: config.batch_input.map(compileBatchInput),
    batchOutputs: config.batch_output.map(compileBatchOutput),
    maxQueueSize: batching?.default_queue_policy?.max_queue_size || defaultMaxQueueSize,
    warmups: [],
    usesCache: config.response_cache?.enable ?? false,
    instanceGroups: config.instance_group.map(compileGroup),
    decoupled: config.model_transaction_policy?.decoupled ?? false,
    parameters,
    graphLevel: config.optimization?.graph?.level ?? 0,
    config: toDocument(modelConfigType, config),
  };
};
