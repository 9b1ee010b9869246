import type { ModelSignature, SignatureTensor } from '../../streams/inference/backend.ts';
import { configTypeOf } from './datatypes.ts';
import type { Finding } from './findings.ts';
import { fault } from './findings.ts';
import type { ConfigInput, ConfigOutput, ConfigTensor, ModelConfig } from './model-config.ts';
import { serverInputs, stateOutputs } from './server-inputs.ts';

export interface TensorCompletion {
  readonly config: ModelConfig;
  readonly findings: readonly Finding[];
  /** Values chosen for the user, for the log. */
  readonly notes: readonly string[];
}

const isBatchable = ({ inputs, outputs }: ModelSignature): boolean => [...inputs, ...outputs].every(({ shape }) => shape[0] === -1);

const toConfigTensor = ({ name, datatype, shape }: SignatureTensor, isBatched: boolean): ConfigTensor => {
  const dims = isBatched ? shape.slice(1) : shape;
  const tensor = { name, data_type: configTypeOf(datatype), dims: dims.length === 0 ? [1] : dims };
  // A config cannot describe a scalar; without a batch dimension not even by a reshape.
  return dims.length === 0 && isBatched ? { ...tensor, reshape: { shape: [] } } : tensor;
};

const completeInputs = (config: ModelConfig, signature: ModelSignature): readonly ConfigInput[] => {
  if (config.input.length > 0) return config.input;
  const isBatched = config.max_batch_size > 0;
  const given = new Set(serverInputs(config).map(({ name }) => name));
  return signature.inputs
    .filter(({ name }) => !given.has(name))
    .map((tensor) => ({ ...toConfigTensor(tensor, isBatched), format: 'FORMAT_NONE', optional: false }));
};

const completeOutputs = (config: ModelConfig, signature: ModelSignature): readonly ConfigOutput[] => {
  if (config.output.length > 0) return config.output;
  const isBatched = config.max_batch_size > 0;
  const kept = new Set(stateOutputs(config));
  return signature.outputs
    .filter(({ name }) => !kept.has(name))
    .map((tensor) => ({ ...toConfigTensor(tensor, isBatched), label_filename: '' }));
};

const dynamicBatching = {
  preferred_batch_size: [],
  max_queue_delay_microseconds: 0,
  preserve_ordering: false,
  priority_levels: 0,
  default_priority_level: 0,
  priority_queue_policy: {},
} as const;

const withBatching = (config: ModelConfig): ModelConfig => {
  const isDecided = config.dynamic_batching !== undefined || config.sequence_batching !== undefined;
  return config.max_batch_size > 1 && !isDecided ? { ...config, dynamic_batching: dynamicBatching } : config;
};

/**
 * Completes a config from what the model's file says, by the rules of Triton's ONNX Runtime backend: only where inputs or outputs are missing;
 * a missing side is filled with all of the model's tensors that clients send or see: inputs that the server gives, and states, are not among them; a
 * model that can batch gets `max_batch_size` and dynamic batching where it has
 * none. Values that the user wrote stay.
 */
export const completeTensors = (config: ModelConfig, signature: ModelSignature, defaultMaxBatchSize: number): TensorCompletion => {
  const { name } = config;
  if (config.input.length + config.batch_input.length > 0 && config.output.length > 0) return { config, findings: [], notes: [] };
  const canBatch = isBatchable(signature);
  if (!canBatch && config.max_batch_size > 0) {
    const text = `autofill failed for model '${name}': model does not support batching while non-zero max_batch_size is specified`;
    return { config, findings: [fault('max_batch_size', text, { wanted: '0', got: String(config.max_batch_size) })], notes: [] };
  }
  const isFilled = canBatch && config.max_batch_size === 0 && defaultMaxBatchSize > 0;
  const sized = isFilled ? { ...config, max_batch_size: defaultMaxBatchSize } : config;
  const batched = canBatch ? withBatching(sized) : sized;
  return {
    config: { ...batched, input: completeInputs(batched, signature), output: completeOutputs(batched, signature) },
    findings: [],
    notes: isFilled
      ? [
          // The spelling is Triton's.
          `autofilled max_batch_size to ${defaultMaxBatchSize} for model '${name}' since batching is supporrted but no max_batch_size is specified in model configuration. Must specify max_batch_size to utilize autofill with a larger max batch size`,
        ]
      : [],
  };
};
