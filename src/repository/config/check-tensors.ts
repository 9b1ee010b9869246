import type { Finding } from './findings.ts';
import { fault, warning } from './findings.ts';
import type { ConfigInput, ConfigTensor, Int64, ModelConfig } from './model-config.ts';

const dimensions = 'integers >= 1, or -1 for any size';

const isSize = (size: Int64): boolean => size >= 1 || size === -1;

const format = (dims: readonly Int64[]): string => `[${dims.join(',')}]`;

/** Products of the sizes between variable ones: `[2,3,-1,4]` is `[6n, 4n]`. */
const segments = (dims: readonly Int64[]): readonly bigint[] => {
  const products = [1n];
  for (const size of dims) {
    if (size === -1) products.push(1n);
    else products.push((products.pop() ?? 1n) * BigInt(size));
  }
  return products;
};

const checkReshape = (tensor: ConfigTensor, who: string, maxBatchSize: number): string | undefined => {
  const shape = tensor.reshape?.shape;
  if (shape === undefined) return undefined;
  if (shape.length === 0 && maxBatchSize === 0) {
    return `${who} cannot have empty reshape for non-batching model as scalar tensors are not supported`;
  }
  if (!shape.every(isSize)) return `${who} reshape dimensions must be integer >= 1, or -1 to indicate a variable-size dimension`;
  const wanted = segments(tensor.dims);
  const got = segments(shape);
  const isVariable = wanted.length > 1 && got.length > 1;
  if (isVariable && wanted.length !== got.length) return `${who} has different number of variable-size dimensions for dims and reshape`;
  const isSame = wanted.length === got.length && wanted.every((product, index) => product === got[index]);
  return isSame ? undefined : `${who} has different size for dims and reshape`;
};

const checkTensor = (tensor: ConfigTensor, kind: 'input' | 'output', index: number, config: ModelConfig): Finding[] => {
  const field = `${kind}[${index}]`;
  const end = ` for ${config.name}`;
  const who = `model ${kind} '${tensor.name}'`;
  const findings: Finding[] = [];
  if (tensor.name === '') findings.push(fault(`${field}.name`, `model ${kind} must specify 'name'${end}`));
  if (tensor.data_type === 'TYPE_INVALID') {
    findings.push(fault(`${field}.data_type`, `${who} must specify 'data_type'${end}`, { wanted: 'a TYPE_… of the configuration' }));
  }
  if (tensor.dims.length === 0) {
    const wanted = 'at least one dimension; [ 1 ] with an empty reshape for a scalar';
    findings.push(fault(`${field}.dims`, `${who} must specify 'dims'${end}`, { wanted, got: '[]' }));
  } else if (!tensor.dims.every(isSize)) {
    const text = `${who} dimension must be integer >= 1, or -1 to indicate a variable-size dimension${end}`;
    findings.push(fault(`${field}.dims`, text, { wanted: dimensions, got: format(tensor.dims) }));
  } else {
    const text = checkReshape(tensor, who, config.max_batch_size);
    const details = { wanted: `as many elements as dims ${format(tensor.dims)}`, got: format(tensor.reshape?.shape ?? []) };
    if (text !== undefined) findings.push(fault(`${field}.reshape`, `${text}${end}`, details));
  }
  return findings;
};

const checkFormat = (input: ConfigInput, index: number, config: ModelConfig): Finding[] => {
  if (input.format === 'FORMAT_NONE' || input.dims.length === 3) return [];
  const details = { wanted: '3 dims', got: format(input.dims) };
  return [fault(`input[${index}].format`, `model input NHWC/NCHW require 3 dims for ${config.name}`, details)];
};

const checkNames = (config: ModelConfig): Finding[] => {
  const findings: Finding[] = [];
  const inputs = new Set<string>();
  const outputs = new Set<string>();
  const twice = (field: string, name: string, kind: string) =>
    findings.push(warning(field, `${kind} '${name}' of model ${config.name} is there more than once; the first counts`));
  config.input.forEach(({ name }, index) => {
    if (inputs.has(name)) twice(`input[${index}].name`, name, 'input');
    inputs.add(name);
  });
  config.output.forEach(({ name }, index) => {
    const field = `output[${index}].name`;
    if (outputs.has(name)) twice(field, name, 'output');
    if (inputs.has(name)) findings.push(warning(field, `output '${name}' of model ${config.name} has the name of an input`));
    outputs.add(name);
  });
  return findings;
};

/** Faults of `input` and `output` that show without the model. */
export const checkTensors = (config: ModelConfig): readonly Finding[] => [
  ...config.input.flatMap((input, index) => [...checkTensor(input, 'input', index, config), ...checkFormat(input, index, config)]),
  ...config.output.flatMap((output, index) => checkTensor(output, 'output', index, config)),
  ...checkNames(config),
];
