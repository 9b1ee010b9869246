import type { Finding } from './findings.ts';
import { fault, warning } from './findings.ts';
import type { ConfigInitialState, ConfigState, Int64 } from './model-config.ts';

const format = (dims: readonly Int64[]): string => `[${dims.join(',')}]`;

/** Sizes of `initial_state` against those of the state: one fault at most. */
const checkDims = (state: ConfigState, initial: ConfigInitialState, field: string): readonly Finding[] => {
  const input = state.input_name;
  const details = { wanted: format(state.dims), got: format(initial.dims) };
  if (initial.dims.length !== state.dims.length) {
    const text = `Number of dimensions in 'initial_state' doesn't match the size of 'state' dimensions for state input '${input}'. ${initial.dims.length} != ${state.dims.length}`;
    return [fault(field, text, details)];
  }
  if (initial.dims.some((size) => size < 0)) {
    return [fault(field, `'initial_state' field for state input name '${input}' contains variable dimensions.`, details)];
  }
  const axis = state.dims.findIndex((size, index) => size !== -1 && size !== initial.dims[index]);
  if (axis === -1) return [];
  const text = `'initial_state' dim for input name '${input}' doesn't match 'state' dim description. ${initial.dims[axis]} != ${state.dims[axis]}`;
  return [fault(field, text, details)];
};

const checkInitial = (state: ConfigState, field: string): readonly Finding[] => {
  const { input_name: input, initial_state: initials } = state;
  if (initials.length > 1) {
    const text = `initial_state field for state input '${input}' must contain exactly one or zero element. Found '${initials.length}' elements.`;
    return [fault(`${field}.initial_state[1]`, text)];
  }
  const [initial] = initials;
  if (initial === undefined) return [];
  const at = `${field}.initial_state[0]`;
  const findings: Finding[] = [];
  if (initial.data_type !== state.data_type) {
    const text = `The data type used for 'initial_state' field of state '${input}' does not match the state data type.`;
    findings.push(fault(`${at}.data_type`, text, { wanted: state.data_type, got: initial.data_type }));
  }
  if (initial.name === '')
    findings.push(fault(`${at}.name`, `Field 'name' must be set when using initial_state for state input '${input}'.`));
  return [...findings, ...checkDims(state, initial, `${at}.dims`)];
};

/** What Triton loads though it looks wrong. */
const checkOdd = (name: string, state: ConfigState, field: string): readonly Finding[] => {
  const { input_name: input } = state;
  const findings: Finding[] = [];
  if (state.data_type === 'TYPE_INVALID') {
    findings.push(warning(field, `state '${input}' of model ${name} has no 'data_type': the model is not given it`));
  }
  if (state.output_name === '') {
    findings.push(warning(field, `state '${input}' of model ${name} has no 'output_name': it keeps its first value`));
  }
  for (const option of ['use_same_buffer_for_input_output', 'use_growable_memory'] as const) {
    if (!state[option]) continue;
    findings.push(warning(`${field}.${option}`, `'${option}' of state '${input}' has no effect for ${name}: every state may grow`));
  }
  return findings;
};

/** Faults of the states of a sequence model that show without their files. */
export const checkStates = (name: string, states: readonly ConfigState[]): readonly Finding[] => {
  const findings: Finding[] = [];
  const inputs = new Set<string>();
  const outputs = new Set<string>();
  states.forEach((state, index) => {
    const field = `sequence_batching.state[${index}]`;
    if (inputs.has(state.input_name)) {
      findings.push(fault(`${field}.input_name`, `State input name '${state.input_name}' specified more than once.`));
    }
    inputs.add(state.input_name);
    if (state.output_name !== '' && outputs.has(state.output_name)) {
      const text = `output '${state.output_name}' of model ${name} is that of another state too: both follow it`;
      findings.push(warning(`${field}.output_name`, text));
    }
    outputs.add(state.output_name);
    if (state.dims.some((size) => size < -1)) {
      const text = `state '${state.input_name}' of model ${name} has a size that is none`;
      findings.push(fault(`${field}.dims`, text, { wanted: '0 or more, or -1 for any size', got: format(state.dims) }));
    }
    findings.push(...checkInitial(state, field), ...checkOdd(name, state, field));
  });
  return findings;
};
