import type { ModelSignature, SignatureTensor } from '../../streams/inference/backend.ts';
import { formatShape } from '../../streams/tensors/shape.ts';
import { checkServerTensors } from './check-server-tensors.ts';
import { configTypeOf, datatypeOf } from './datatypes.ts';
import type { Finding } from './findings.ts';
import { fault } from './findings.ts';
import type { ConfigInput, ConfigTensor, Int64, ModelConfig } from './model-config.ts';
import { serverInputs } from './server-inputs.ts';

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

/** Requests' elements end to end make one dimension, and that without any input that may be missing. The sentences' blanks are Triton's. */
const raggedFault = ({ name, optional }: ConfigInput, model: SignatureTensor, config: ModelConfig): string | undefined => {
  const who = `unable to load model '${config.name}', configuration expects model provides input with shape [-1]`;
  if (optional) return `${who} for ragged input '${name}', which is not supported for optional input`;
  if (isSame(model.shape, [-1])) return undefined;
  return `${who}  for ragged input '${name}', model provides ${formatShape(model.shape)}`;
};

/** How the model is given a tensor. */
type Given = { readonly kind: 'shaped' | 'scattered' } | { readonly kind: 'ragged'; readonly input: ConfigInput };

const checkTensor = (
  tensor: ConfigTensor,
  given: Given,
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
  // The shape of an output that is split by an input's shapes is the model's own affair.
  if (tensor.dims.length === 0 || given.kind === 'scattered') return findings;
  const text = given.kind === 'ragged' ? raggedFault(given.input, model, config) : checkShape(tensor, model, config);
  const got = `[${tensor.dims.join(',')}]`;
  const isBatched = given.kind === 'shaped' && config.max_batch_size > 0 && model.shape[0] === -1;
  if (text !== undefined) findings.push(fault(`${field}.dims`, text, isBatched ? { wanted: batchedDims, got } : { got }));
  return findings;
};

/** Where a complete config disagrees with the model's own inputs and outputs. */
export const checkSignature = (config: ModelConfig, signature: ModelSignature): readonly Finding[] => {
  const { name, input, output, batch_output, max_batch_size } = config;
  const findings: Finding[] = [];
  const listed = new Set(input.map((tensor) => tensor.name));
  const added = new Set(serverInputs(config).map((tensor) => tensor.name)).difference(listed);
  const expected = input.length + added.size;
  if (expected !== signature.inputs.length) {
    const text = `unable to load model '${name}', configuration expects ${expected} inputs, model provides ${signature.inputs.length}`;
    findings.push(fault('input', text));
  }
  input.forEach((tensor, index) => {
    const given: Given = tensor.allow_ragged_batch ? { kind: 'ragged', input: tensor } : { kind: 'shaped' };
    findings.push(...checkTensor(tensor, given, 'input', `input[${index}]`, signature.inputs, config));
    if (tensor.optional && max_batch_size > 0) {
      const text = `unable to load model '${name}', optional input '${tensor.name}' is not supported for models that support batching`;
      findings.push(fault(`input[${index}].optional`, text));
    }
  });
  output.forEach((tensor, index) => {
    const given: Given = { kind: batch_output.some(({ target_name }) => target_name.includes(tensor.name)) ? 'scattered' : 'shaped' };
    findings.push(...checkTensor(tensor, given, 'output', `output[${index}]`, signature.outputs, config));
  });
  return [...findings, ...checkServerTensors(config, signature)];
};
