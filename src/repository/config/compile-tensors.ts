import type { ModelSignature, SignatureTensor } from '../../streams/inference/backend.ts';
import type { BatchInput, BatchOutput, InputSpec, OutputSpec, TensorSpec } from '../../streams/inference/model-spec.ts';
import type { Shape } from '../../streams/tensors/shape.ts';
import { datatypeOf } from './datatypes.ts';
import type { ConfigBatchInput, ConfigBatchOutput, ConfigTensor, Int64, ModelConfig } from './model-config.ts';

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

export const compileInputs = ({ input }: ModelConfig, signature: ModelSignature | undefined): readonly InputSpec[] =>
  firstOfName(input).map((tensor) => ({
    ...compileTensor(tensor, signature?.inputs),
    optional: tensor.optional,
    allowRagged: tensor.allow_ragged_batch ?? false,
  }));

/** `labels` by output of the config. */
export const compileOutputs = (
  { output }: ModelConfig,
  signature: ModelSignature | undefined,
  labels: readonly (readonly string[])[],
): readonly OutputSpec[] => {
  const outputs = output.map((tensor, index) => ({ tensor, name: tensor.name, labels: labels[index] ?? [] }));
  return firstOfName(outputs).map(({ tensor, labels: own }) => ({ ...compileTensor(tensor, signature?.outputs), labels: own }));
};

export const compileBatchInput = ({ kind, target_name, data_type, source_input }: ConfigBatchInput): BatchInput => ({
  kind,
  names: target_name,
  datatype: data_type === 'TYPE_FP32' ? 'FP32' : 'INT32',
  source: source_input[0] ?? '',
});

export const compileBatchOutput = ({ target_name, source_input }: ConfigBatchOutput): BatchOutput => ({
  names: target_name,
  source: source_input[0] ?? '',
});
