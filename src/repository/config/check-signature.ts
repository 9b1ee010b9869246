import type { ModelSignature, SignatureTensor } from '../../streams/inference/backend.ts';
import { formatShape } from '../../streams/tensors/shape.ts';
import { configTypeOf, datatypeOf } from './datatypes.ts';
import type { Finding } from './findings.ts';
import { fault } from './findings.ts';
import type { ConfigTensor, Int64, ModelConfig } from './model-config.ts';

const isSame = (a: readonly Int64[], b: readonly Int64[]): boolean => a.length === b.length && a.every((size, axis) => size === b[axis]);

const batchedDims = 'the shape that the model expects, without its batch dimension';

/** Rank and sizes of one tensor against the model's own; the text of the fault if they differ. */
const checkShape = (tensor: ConfigTensor, model: SignatureTensor, config: ModelConfig): string | undefined => {
  const dims = tensor.reshape?.shape ?? tensor.dims;
  const rank = model.shape.length;
  const who = `model '${config.name}', tensor '${tensor.name}':`;
  if (config.max_batch_size > 0) {
    if (model.shape[0] !== -1) {
      return `${who} for the model to support batching the shape should have at least 1 dimension and the first dimension must be -1; but shape expected by the model is ${formatShape(model.shape)}`;
    }
    const complete = [-1, ...dims];
    if (isSame(complete, model.shape)) return undefined;
    return `${who} the model expects ${rank} dimensions (shape ${formatShape(model.shape)}) but the model configuration specifies ${complete.length} dimensions (an initial batch dimension because max_batch_size > 0 followed by the explicit tensor shape, making complete shape [${complete.join(',')}])`;
  }
  if (rank === 0) {
    if (isSame(tensor.dims, [1])) return undefined;
    return `unable to load model '${config.name}', scalar tensor '${tensor.name}', should only provide 1 in the model configuration when the model doesn't support batching. Model configuration provided: [${dims.join(',')}].`;
  }
  if (isSame(dims, model.shape)) return undefined;
  return `${who} the model expects ${rank} dimensions (shape ${formatShape(model.shape)}) but the model configuration specifies ${dims.length} dimensions (shape [${dims.join(',')}])`;
};

const checkTensor = (
  tensor: ConfigTensor,
  kind: 'input' | 'output',
  field: string,
  models: readonly SignatureTensor[],
  config: ModelConfig,
): Finding[] => {
  const model = models.find(({ name }) => name === tensor.name);
  if (model === undefined) {
    const allowed = models.map(({ name }) => name).join(', ');
    return [fault(`${field}.name`, `unexpected inference ${kind} '${tensor.name}', allowed ${kind}s are: ${allowed}`)];
  }
  const findings: Finding[] = [];
  // TYPE_INVALID is reported as missing.
  if (tensor.data_type !== 'TYPE_INVALID' && datatypeOf(tensor.data_type) !== model.datatype) {
    const text = `unable to load model '${config.name}', configuration expects datatype ${tensor.data_type} for ${kind} '${tensor.name}', model provides TYPE_${model.datatype}`;
    findings.push(fault(`${field}.data_type`, text, { wanted: configTypeOf(model.datatype), got: tensor.data_type }));
  }
  if (tensor.dims.length === 0) return findings;
  const text = checkShape(tensor, model, config);
  const got = `[${tensor.dims.join(',')}]`;
  const isBatched = config.max_batch_size > 0 && model.shape[0] === -1;
  if (text !== undefined) findings.push(fault(`${field}.dims`, text, isBatched ? { wanted: batchedDims, got } : { got }));
  return findings;
};

/** Where a complete config disagrees with the model's own inputs and outputs. */
export const checkSignature = (config: ModelConfig, signature: ModelSignature): readonly Finding[] => {
  const { name, input, output, max_batch_size } = config;
  const findings: Finding[] = [];
  if (input.length !== signature.inputs.length) {
    const text = `unable to load model '${name}', configuration expects ${input.length} inputs, model provides ${signature.inputs.length}`;
    findings.push(fault('input', text));
  }
  input.forEach((tensor, index) => {
    findings.push(...checkTensor(tensor, 'input', `input[${index}]`, signature.inputs, config));
    if (tensor.optional && max_batch_size > 0) {
      const text = `unable to load model '${name}', optional input '${tensor.name}' is not supported for models that support batching`;
      findings.push(fault(`input[${index}].optional`, text));
    }
  });
  output.forEach((tensor, index) => {
    findings.push(...checkTensor(tensor, 'output', `output[${index}]`, signature.outputs, config));
  });
  return findings;
};
