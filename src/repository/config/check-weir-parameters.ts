import { tensorFrom } from '../../streams/tensors/tensor-from-values.ts';
import { datatypeOf } from './datatypes.ts';
import type { Finding } from './findings.ts';
import { fault } from './findings.ts';
import type { ConfigTensor, ModelConfig } from './model-config.ts';
import { nearestName } from './nearest-name.ts';
import { maskOf, namesIn, type WeirParameter, weirParameters } from './weir-parameters.ts';

export interface WeirParametersContext {
  /** Whether the model's backend makes one tensor of a batch's tensors; undefined for a backend that there is not. */
  readonly gathers: boolean | undefined;
}

/** What is wrong with one parameter: the sentence, and what was wanted. */
interface Wrong {
  readonly text: string;
  readonly wanted?: string;
}

type Check = (value: string, config: ModelConfig, context: WeirParametersContext) => readonly Wrong[];

const variableDims = ({ dims, reshape }: ConfigTensor): number => (reshape?.shape ?? dims).filter((size) => size === -1).length;

const needsBatching = ({ dynamic_batching }: ModelConfig): readonly Wrong[] =>
  dynamic_batching === undefined ? [{ text: "needs 'dynamic_batching'" }] : [];

const needs = (config: ModelConfig, name: WeirParameter): readonly Wrong[] =>
  config.parameters[name] === undefined ? [{ text: `needs '${name}'` }] : [];

const isBoolean = (value: string): readonly Wrong[] =>
  ['true', 'false'].includes(value.toLowerCase()) ? [] : [{ text: 'is neither true nor false', wanted: "'true' or 'false'" }];

const tensorsOf = (config: ModelConfig, kind: 'input' | 'output'): readonly ConfigTensor[] => config[kind];

/** Names of one kind of tensor, each of which has a dimension of any size. */
const checkNames = (value: string, config: ModelConfig, kind: 'input' | 'output'): readonly Wrong[] => {
  const names = namesIn(value);
  const known = tensorsOf(config, kind).map(({ name }) => name);
  if (names.length === 0) return [{ text: `names no ${kind}`, wanted: `${kind}s with commas between` }];
  return names.flatMap((name) => {
    const tensor = tensorsOf(config, kind).find((each) => each.name === name);
    if (tensor === undefined) {
      const near = nearestName(name, known);
      return [{ text: `names '${name}', which is no ${kind}`, wanted: near === undefined ? `one of ${known.join(', ')}` : `'${near}'` }];
    }
    return variableDims(tensor) === 0
      ? [{ text: `names '${name}', which has no dimension of any size`, wanted: `an ${kind} with -1` }]
      : [];
  });
};

const paddedInputs = (config: ModelConfig) => {
  const names = namesIn(config.parameters.weir_pad_inputs?.string_value ?? '');
  return names.flatMap((name) => config.input.filter((each) => each.name === name).slice(0, 1));
};

const canHold = (configType: string, value: number): boolean => {
  const datatype = datatypeOf(configType);
  if (datatype === undefined) return true;
  // Strings are filled up with empty ones.
  if (datatype === 'BYTES') return value === 0;
  try {
    tensorFrom(datatype, [1], [datatype === 'BOOL' && (value === 0 || value === 1) ? value === 1 : value]);
    return true;
  } catch {
    return false;
  }
};

const checkValue: Check = (value, config) => {
  if (value.trim() === '' || !Number.isFinite(Number(value))) return [{ text: `is '${value}'`, wanted: 'a number' }];
  return paddedInputs(config)
    .filter(({ data_type }) => !canHold(data_type, Number(value)))
    .map(({ name, data_type }) => ({ text: `is ${value}, which input '${name}' of ${data_type} cannot hold` }));
};

const checkMask: Check = (value, config) => {
  const mask = maskOf(value);
  if (mask === undefined) return [{ text: `is '${value}'`, wanted: "'name' or 'name:TYPE_INT64', of any type but TYPE_STRING" }];
  const isSent = config.input.some(({ name }) => name === mask.name);
  return isSent
    ? [{ text: `names '${mask.name}', which is an input that clients send`, wanted: "an input of the model that 'input' leaves out" }]
    : [];
};

const checkOutputs: Check = (value, config) => {
  const wrong = checkNames(value, config, 'output');
  const [first] = paddedInputs(config);
  if (wrong.length > 0 || first === undefined) return wrong;
  return namesIn(value).flatMap((name) => {
    const output = config.output.find((each) => each.name === name);
    if (output === undefined || variableDims(output) <= variableDims(first)) return [];
    return [{ text: `names '${name}', which has more dimensions of any size than input '${first.name}'` }];
  });
};

const checkInputs: Check = (value, config) => [
  ...checkNames(value, config, 'input'),
  ...paddedInputs(config)
    .filter(({ allow_ragged_batch }) => allow_ragged_batch)
    .map(({ name }) => ({ text: `names '${name}', which is ragged` })),
];

const checks: Readonly<Record<WeirParameter, Check>> = {
  weir_batch_group_by: (value, config) => [
    ...(value === '' ? [{ text: 'is empty', wanted: 'the name of a request parameter' }] : []),
    ...needsBatching(config),
  ],
  weir_batch_unequal_shapes: (value, config, { gathers }) => [
    ...isBoolean(value),
    ...needsBatching(config),
    ...(gathers === true ? [{ text: `is not for backend '${config.backend}', which makes one tensor of a batch's tensors` }] : []),
  ],
  weir_pad_inputs: (value, config, context) => [...checkInputs(value, config, context), ...needsBatching(config)],
  weir_pad_value: (value, config, context) => [...checkValue(value, config, context), ...needs(config, 'weir_pad_inputs')],
  weir_pad_mask: (value, config, context) => [...checkMask(value, config, context), ...needs(config, 'weir_pad_inputs')],
  weir_pad_outputs: (value, config, context) => [...checkOutputs(value, config, context), ...needs(config, 'weir_pad_inputs')],
  weir_sequence_end_on_idle: (value, { sequence_batching: sequences }) => {
    const hasEnd = sequences?.control_input.some(({ control }) => control.some(({ kind }) => kind === 'CONTROL_SEQUENCE_END'));
    return [
      ...isBoolean(value),
      ...(hasEnd === true ? [] : [{ text: "needs 'sequence_batching' with a control input of CONTROL_SEQUENCE_END" }]),
    ];
  },
};

const isKnown = (key: string): key is WeirParameter => Object.hasOwn(weirParameters, key);

/** Faults of Weir's own `parameters`: those that begin with `weir_`. */
export const checkWeirParameters = (config: ModelConfig, context: WeirParametersContext): readonly Finding[] =>
  Object.entries(config.parameters).flatMap(([key, { string_value: value }]) => {
    if (!key.startsWith('weir_')) return [];
    const field = `parameters["${key}"]`;
    if (!isKnown(key)) {
      const near = nearestName(key, Object.keys(weirParameters));
      const wanted = near === undefined ? `one of ${Object.keys(weirParameters).join(', ')}` : `'${near}'`;
      return [fault(field, `there is no parameter '${key}' for ${config.name}`, { wanted, got: `'${key}'` })];
    }
    return checks[key](value, config, context).map(({ text, wanted }) =>
      fault(field, `parameter '${key}' ${text} for ${config.name}`, wanted === undefined ? {} : { wanted, got: `'${value}'` }),
    );
  });
