import type { ModelSignature, SignatureTensor } from '../../streams/inference/backend.ts';
import type {
  DynamicBatching,
  InputSpec,
  InstanceGroup,
  InstanceKind,
  ModelSpec,
  OutputSpec,
  TensorSpec,
} from '../../streams/inference/model-spec.ts';
import type { Shape } from '../../streams/tensors/shape.ts';
import { datatypeOf } from './datatypes.ts';
import { toDocument } from './document.ts';
import type { ConfigDynamicBatching, ConfigInstanceGroup, ConfigInstanceKind, ConfigTensor, Int64, ModelConfig } from './model-config.ts';
import { modelConfigType } from './proto.ts';

export interface CompileConfig {
  readonly version: string;
  readonly signature: ModelSignature | undefined;
  /** By output. */
  readonly labels: readonly (readonly string[])[];
  /** Where the config sets no `max_queue_size`. */
  readonly defaultMaxQueueSize: number;
}

const kinds: Readonly<Record<ConfigInstanceKind, InstanceKind>> = {
  KIND_AUTO: 'CPU',
  KIND_CPU: 'CPU',
  KIND_GPU: 'GPU',
  KIND_MODEL: 'MODEL',
};

const toShape = (dims: readonly Int64[]): Shape => dims.map(Number);

/** Names count once: of several tensors of one name the first is meant. */
const firstOfName = <T extends { readonly name: string }>(tensors: readonly T[]): readonly T[] =>
  tensors.filter(({ name }, index) => tensors.findIndex((other) => other.name === name) === index);

const compileTensor = (tensor: ConfigTensor, models: readonly SignatureTensor[] | undefined): TensorSpec => {
  const datatype = datatypeOf(tensor.data_type);
  if (datatype === undefined) throw new TypeError(`tensor '${tensor.name}' has no datatype: the config has not been checked`);
  // A config describes a scalar without batch dimension as [1].
  const isScalar = models?.find(({ name }) => name === tensor.name)?.shape.length === 0;
  const reshape = isScalar ? [] : tensor.reshape?.shape;
  return { name: tensor.name, datatype, dims: toShape(tensor.dims), reshape: reshape === undefined ? undefined : toShape(reshape) };
};

const compileGroup = ({ name, kind, count, gpus }: ConfigInstanceGroup): InstanceGroup => ({
  name,
  kind: kinds[kind],
  count,
  gpus,
  isPassive: false,
  resources: [],
  priority: 1,
});

const compileBatching = (batching: ConfigDynamicBatching, defaultMaxQueueSize: number): DynamicBatching => ({
  preferredBatchSizes: [...new Set(batching.preferred_batch_size)].toSorted((a, b) => a - b),
  maxQueueDelayMs: Number(batching.max_queue_delay_microseconds) / 1000,
  preserveOrdering: false,
  priorityLevels: 0n,
  defaultPriorityLevel: 0n,
  defaultQueuePolicy: {
    timeoutAction: 'REJECT',
    defaultTimeoutMs: 0,
    allowTimeoutOverride: false,
    maxQueueSize: batching.default_queue_policy?.max_queue_size || defaultMaxQueueSize,
  },
  queuePolicies: new Map(),
  isStrict: (batching.default_queue_policy?.max_queue_size ?? 0) > 0,
});

/** Turns a complete and checked config into what running the version needs. */
export const compile = (config: ModelConfig, { version, signature, labels, defaultMaxQueueSize }: CompileConfig): ModelSpec => {
  const outputs = config.output.map((output, index) => ({ output, labels: labels[index] ?? [], name: output.name }));
  return {
    name: config.name,
    version,
    platform: config.platform,
    backend: config.backend,
    maxBatchSize: config.max_batch_size,
    inputs: firstOfName(config.input).map(
      (input): InputSpec => ({
        ...compileTensor(input, signature?.inputs),
        optional: input.optional,
        allowRagged: false,
      }),
    ),
    outputs: firstOfName(outputs).map(
      ({ output, labels: own }): OutputSpec => ({ ...compileTensor(output, signature?.outputs), labels: own }),
    ),
    dynamicBatching: config.dynamic_batching === undefined ? undefined : compileBatching(config.dynamic_batching, defaultMaxQueueSize),
    sequenceBatching: undefined,
    batchOptions: { groupByParameter: undefined, unequalShapes: false, padding: undefined },
    batchInputs: [],
    batchOutputs: [],
    warmups: [],
    usesCache: false,
    maxQueueSize: config.dynamic_batching?.default_queue_policy?.max_queue_size || defaultMaxQueueSize,
    instanceGroups: config.instance_group.map(compileGroup),
    decoupled: config.model_transaction_policy?.decoupled ?? false,
    parameters: new Map(Object.entries(config.parameters).map(([key, { string_value }]) => [key, string_value])),
    graphLevel: config.optimization?.graph?.level ?? 0,
    config: toDocument(modelConfigType, config),
  };
};
