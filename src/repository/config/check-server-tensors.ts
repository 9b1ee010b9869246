import type { ModelSignature, SignatureTensor } from '../../streams/inference/backend.ts';
import type { Datatype } from '../../streams/tensors/datatype.ts';
import { formatShape } from '../../streams/tensors/shape.ts';
import { configTypeOf, datatypeOf } from './datatypes.ts';
import type { Finding } from './findings.ts';
import { fault } from './findings.ts';
import type { ConfigBatchOutput, ConfigState, Int64, ModelConfig } from './model-config.ts';
import { type ServerInput, serverInputs } from './server-inputs.ts';

const format = (shape: readonly Int64[]): string => `[${shape.join(',')}]`;

/** ONNX's own names of element types, which some of Triton's sentences have. */
const onnxNames: Readonly<Partial<Record<Datatype, string>>> = {
  FP16: 'FLOAT16',
  FP32: 'FLOAT',
  FP64: 'DOUBLE',
  BF16: 'BFLOAT16',
  BYTES: 'STRING',
};

/** Whether a tensor of shape `given` always fits where the model has `model`. */
const accepts = (model: readonly Int64[], given: readonly Int64[]): boolean =>
  model.length === given.length && model.every((size, axis) => size === -1 || size === given[axis]);

/** Whether one shape may be the other. */
const agrees = (model: readonly Int64[], config: readonly Int64[]): boolean =>
  model.length === config.length && model.every((size, axis) => size === -1 || config[axis] === -1 || size === config[axis]);

const checkControl = ({ name, max_batch_size }: ModelConfig, input: ServerInput, model: SignatureTensor): readonly Finding[] => {
  const findings: Finding[] = [];
  const who = `unable to load model '${name}', sequence control '${input.name}'`;
  const dims = max_batch_size > 0 ? model.shape.slice(1) : model.shape;
  if (dims.length !== 1 || dims[0] !== 1) {
    const text = `${who} in model has dims ${formatShape(dims)} but dims [1] is expected`;
    findings.push(fault(input.field, text, { wanted: max_batch_size > 0 ? '[-1,1]' : '[1]', got: formatShape(model.shape) }));
  } else if (max_batch_size > 0 && model.shape[0] !== -1) {
    findings.push(fault(input.field, `${who} in model has a fixed batch dimension`, { wanted: '[-1,1]', got: formatShape(model.shape) }));
  }
  if (datatypeOf(input.data_type) !== model.datatype) {
    const type = onnxNames[model.datatype] ?? model.datatype;
    const text = `${who}, the model expects data-type ${type} but the model configuration specifies data-type ${input.data_type}`;
    findings.push(fault(input.field, text, { wanted: configTypeOf(model.datatype), got: input.data_type }));
  }
  return findings;
};

const checkType = (model: string, who: string, type: string, tensor: SignatureTensor, field: string): readonly Finding[] => {
  if (datatypeOf(type) === tensor.datatype) return [];
  const text = `unable to load model '${model}', configuration expects datatype ${type} for ${who}, model provides TYPE_${tensor.datatype}`;
  return [fault(field, text, { wanted: configTypeOf(tensor.datatype), got: type })];
};

const unlikeShape = (model: string, who: string, config: readonly Int64[], tensor: SignatureTensor, field: string): Finding => {
  const text = `unable to load model '${model}', configuration expects shape ${format(config)} for ${who}, model provides ${formatShape(tensor.shape)}`;
  return fault(field, text, { wanted: formatShape(tensor.shape), got: format(config) });
};

const unknown = (model: string, who: string, all: readonly SignatureTensor[], kind: 'input' | 'output', field: string): Finding => {
  const allowed = all.map(({ name }) => name).join(', ');
  return fault(field, `unable to load model '${model}', ${who} is no ${kind} of the model, allowed ${kind}s are: ${allowed}`);
};

const checkInput = (config: ModelConfig, input: ServerInput, { inputs }: ModelSignature): readonly Finding[] => {
  const model = inputs.find(({ name }) => name === input.name);
  if (input.kind === 'sequence control') {
    if (model !== undefined) return checkControl(config, input, model);
    return [fault(input.field, `configuration specified sequence control '${input.name}', but model does not provide that input`)];
  }
  const who = `${input.kind} '${input.name}'`;
  if (model === undefined) return [unknown(config.name, who, inputs, 'input', input.field)];
  const findings = [...checkType(config.name, who, input.data_type, model, input.field)];
  if (input.shape !== undefined && !accepts(model.shape, input.shape))
    findings.push(unlikeShape(config.name, who, input.shape, model, input.field));
  return findings;
};

const checkStateOutput = (config: ModelConfig, state: ConfigState, index: number, { outputs }: ModelSignature): readonly Finding[] => {
  const { output_name: output, data_type, dims } = state;
  if (output === '' || data_type === 'TYPE_INVALID') return [];
  const field = `sequence_batching.state[${index}]`;
  const who = `state output '${output}'`;
  const model = outputs.find(({ name }) => name === output);
  if (model === undefined) return [unknown(config.name, who, outputs, 'output', field)];
  const findings = [...checkType(config.name, who, data_type, model, field)];
  const shape = config.max_batch_size > 0 ? [-1, ...dims] : dims;
  if (!agrees(model.shape, shape)) findings.push(unlikeShape(config.name, who, shape, model, field));
  return findings;
};

/** Each −1 of such an output takes the size that its source has at the same position: it must have one. */
const checkScatter = (config: ModelConfig, { target_name, source_input }: ConfigBatchOutput, index: number): readonly Finding[] => {
  const source = config.input.find(({ name }) => name === source_input[0]);
  if (source === undefined) return [];
  const sizes = source.reshape?.shape ?? source.dims;
  return target_name.flatMap((target) => {
    const output = config.output.find(({ name }) => name === target);
    const dims = output?.reshape?.shape ?? output?.dims ?? [];
    if (dims.lastIndexOf(-1) < sizes.length) return [];
    const text = `unable to load model '${config.name}', batch output '${target}' has dimensions of any size where its source '${source.name}' has none`;
    return [fault(`batch_output[${index}]`, text, { wanted: `-1 within the first ${sizes.length}`, got: format(dims) })];
  });
};

/** Where what the server gives to a model and takes from it disagrees with the model's own inputs and outputs. */
export const checkServerTensors = (config: ModelConfig, signature: ModelSignature): readonly Finding[] => [
  ...serverInputs(config).flatMap((input) => checkInput(config, input, signature)),
  ...(config.sequence_batching?.state ?? []).flatMap((state, index) => checkStateOutput(config, state, index, signature)),
  ...config.batch_output.flatMap((output, index) => checkScatter(config, output, index)),
];
