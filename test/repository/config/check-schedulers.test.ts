import { expect, it } from 'vitest';
import { ConfigFaults } from '../../../src/repository/config/findings.ts';
import { failureOf } from '../support/failure.ts';
import { prepare } from '../support/prepare.ts';

const model = `backend: "identity"
max_batch_size: 4
input { name: "X" data_type: TYPE_FP32 dims: 4 }
output { name: "Y" data_type: TYPE_FP32 dims: 4 }
`;

const start = 'control { kind: CONTROL_SEQUENCE_START int32_false_true: [ 0, 1 ] }';
const control = (text: string, name = 'C'): string => `sequence_batching { control_input { name: "${name}" ${text} } }`;
const state = (text: string): string =>
  `sequence_batching { state { input_name: "s" output_name: "t" data_type: TYPE_FP32 dims: [ 2, -1 ] ${text} } }`;
const initial = (text: string): string => state(`initial_state { ${text} }`);
const flags = "'int32_false_true', 'fp32_false_true' or 'bool_false_true'";

// Triton's sentences, each with the field that it is about.
it.each([
  [
    'dynamic_batching { priority_levels: 2 }',
    'dynamic_batching.default_priority_level',
    'default priority level must be in range [1, 2] for m',
  ],
  [
    'dynamic_batching { priority_levels: 18446744073709551614 default_priority_level: 18446744073709551615 }',
    'dynamic_batching.default_priority_level',
    'default priority level must be in range [1, 18446744073709551614] for m',
  ],
  [
    'dynamic_batching { priority_levels: 2 default_priority_level: 1 priority_queue_policy { key: 3 value { } } }',
    'dynamic_batching.priority_queue_policy[3]',
    'priority queue policy must have priority level in range [1, 2] for m',
  ],
  [
    'dynamic_batching { priority_levels: 2 default_priority_level: 1 preserve_ordering: true }',
    'dynamic_batching.priority_levels',
    "Only one priority level is allowed when 'preserve_ordering' is true for m",
  ],
  [
    'dynamic_batching { preserve_ordering: true default_queue_policy { timeout_action: DELAY default_timeout_microseconds: 1 } }',
    'dynamic_batching.default_queue_policy.timeout_action',
    "Queue policy can not have DELAY as timeout action when 'preserve_ordering' is true for m",
  ],
  [
    'dynamic_batching { preserve_ordering: true priority_levels: 1 default_priority_level: 1 priority_queue_policy { key: 1 value { timeout_action: DELAY default_timeout_microseconds: 1 } } }',
    'dynamic_batching.priority_queue_policy[1].timeout_action',
    "Queue policy can not have DELAY as timeout action when 'preserve_ordering' is true for m",
  ],
  [
    'response_cache { enable: true } sequence_batching { }',
    'response_cache.enable',
    'Response Cache does not currently support model m with sequence batching scheduler. Please disable the response cache.',
  ],
  [control(start, ''), 'sequence_batching.control_input[0]', 'sequence batching control tensor must have a name for m'],
  [
    `sequence_batching { control_input { name: "C" ${start} } control_input { name: "C" } }`,
    'sequence_batching.control_input[1].name',
    "sequence batching control tensor 'C' is specified for multiple control kinds for m",
  ],
  [
    `sequence_batching { control_input { name: "C" ${start} } control_input { name: "D" ${start} } }`,
    'sequence_batching.control_input[1].control[0].kind',
    'sequence batching specifies multiple CONTROL_SEQUENCE_START tensors for m',
  ],
  [
    control('control { kind: CONTROL_SEQUENCE_END }'),
    'sequence_batching.control_input[0].control[0]',
    `sequence batching must specify either ${flags} for CONTROL_SEQUENCE_END for m`,
  ],
  [
    control('control { kind: CONTROL_SEQUENCE_READY fp32_false_true: [ 0, 1 ] bool_false_true: [ false, true ] }'),
    'sequence_batching.control_input[0].control[0].bool_false_true',
    "sequence batching specifies more than one from 'int32_false_true', 'fp32_false_true' and 'bool_false_true' for CONTROL_SEQUENCE_READY for m",
  ],
  ...['int32_false_true: 1', 'fp32_false_true: [ 0, 1, 2 ]', 'bool_false_true: true'].map((entries) => {
    const field = entries.slice(0, entries.indexOf(':'));
    return [
      control(`control { kind: CONTROL_SEQUENCE_START ${entries} }`),
      `sequence_batching.control_input[0].control[0].${field}`,
      `sequence batching control '${field}' must have exactly 2 entries for CONTROL_SEQUENCE_START for m`,
    ];
  }),
  [
    control('control { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_INT32 int32_false_true: [ 0, 1 ] }'),
    'sequence_batching.control_input[0].control[0].int32_false_true',
    `sequence batching must not specify either ${flags} for CONTROL_SEQUENCE_CORRID for m`,
  ],
  [
    control('control { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_FP32 }'),
    'sequence_batching.control_input[0].control[0].data_type',
    'unexpected data type for control CONTROL_SEQUENCE_CORRID for m. Allowed data types are TYPE_UINT64, TYPE_INT64, TYPE_UINT32, TYPE_INT32 and TYPE_STRING',
  ],
  [
    'sequence_batching { oldest { preferred_batch_size: [ 1, 0 ] } }',
    'sequence_batching.oldest.preferred_batch_size[1]',
    'sequence batching preferred batch size must be positive for m',
  ],
  [
    'sequence_batching { oldest { preferred_batch_size: 5 } }',
    'sequence_batching.oldest.preferred_batch_size[0]',
    'sequence batching preferred batch size must be <= max batch size for m',
  ],
  [
    'sequence_batching { direct { minimum_slot_utilization: 1.5 } }',
    'sequence_batching.direct.minimum_slot_utilization',
    'sequence batching minimum slot utilization must be in range (0.0, 1.0] for m',
  ],
  [
    initial('name: "i" data_type: TYPE_FP32 dims: [ 2, 1 ] zero_data: true } initial_state { '),
    'sequence_batching.state[0].initial_state[1]',
    "initial_state field for state input 's' must contain exactly one or zero element. Found '2' elements.",
  ],
  [
    initial('name: "i" data_type: TYPE_INT32 dims: [ 2, 1 ] zero_data: true'),
    'sequence_batching.state[0].initial_state[0].data_type',
    "The data type used for 'initial_state' field of state 's' does not match the state data type.",
  ],
  [
    initial('data_type: TYPE_FP32 dims: [ 2, 1 ] zero_data: true'),
    'sequence_batching.state[0].initial_state[0].name',
    "Field 'name' must be set when using initial_state for state input 's'.",
  ],
  [
    `${state('').slice(0, -1)} state { input_name: "s" output_name: "u" data_type: TYPE_FP32 dims: 1 } }`,
    'sequence_batching.state[1].input_name',
    "State input name 's' specified more than once.",
  ],
  [
    initial('name: "i" data_type: TYPE_FP32 dims: 2 zero_data: true'),
    'sequence_batching.state[0].initial_state[0].dims',
    "Number of dimensions in 'initial_state' doesn't match the size of 'state' dimensions for state input 's'. 1 != 2",
  ],
  [
    initial('name: "i" data_type: TYPE_FP32 dims: [ 2, -1 ] zero_data: true'),
    'sequence_batching.state[0].initial_state[0].dims',
    "'initial_state' field for state input name 's' contains variable dimensions.",
  ],
  [
    initial('name: "i" data_type: TYPE_FP32 dims: [ 3, 1 ] zero_data: true'),
    'sequence_batching.state[0].initial_state[0].dims',
    "'initial_state' dim for input name 's' doesn't match 'state' dim description. 3 != 2",
  ],
  [
    initial('name: "i" data_type: TYPE_FP32 dims: [ 2, 1 ]'),
    'sequence_batching.state[0].initial_state[0]',
    "initial_state setting expects state's' to have state_data set",
  ],
  [
    'batch_input { kind: BATCH_ITEM_SHAPE target_name: "N" data_type: TYPE_INT32 }',
    'batch_input[0].source_input',
    "batch input kind 'BATCH_ITEM_SHAPE' expects 1 source input, got 0 for m",
  ],
  [
    'batch_input { target_name: "N" data_type: TYPE_INT64 source_input: "X" }',
    'batch_input[0].data_type',
    'batch input data type must be TYPE_INT32 or TYPE_FP32 for m',
  ],
  [
    'batch_input { target_name: "N" data_type: TYPE_INT32 source_input: "Q" }',
    'batch_input[0].source_input',
    "unknown source input name 'Q' for m",
  ],
  [
    'batch_output { target_name: "Y" source_input: [ "X", "X" ] }',
    'batch_output[0].source_input',
    "batch output kind 'BATCH_SCATTER_WITH_INPUT_SHAPE' expects 1 source input, got 2 for m",
  ],
  ['batch_output { target_name: "Y" source_input: "Q" }', 'batch_output[0].source_input', "unknown source input name 'Q' for m"],
  ['batch_output { target_name: "Q" source_input: "X" }', 'batch_output[0].target_name', "unknown target output name 'Q' for m"],
  [
    'batch_output { target_name: "Y" source_input: "X" } batch_output { target_name: "Y" source_input: "X" }',
    'batch_output[1].target_name',
    "target output name 'Y' can only be specified once for m",
  ],
])('refuses %s', async (text, field, sentence) => {
  const failure = await failureOf(prepare({ config: model + text }));
  expect(failure).toBeInstanceOf(ConfigFaults);
  expect(failure.message).toContain(sentence);
  expect(failure.message).toMatch(/m\/config\.pbtxt:5:\d+/);
  expect(failure instanceof ConfigFaults && failure.faults.map((fault) => fault.field)).toContain(field);
});

const resources = 'instance_group { rate_limiter { resources [ { name: "R" count: 1 }, { name: "R" global: true count: 2 } ] } }';

it.each([
  ['dynamic_batching { priority_queue_policy { key: 1 value { } } }', 'dynamic_batching.priority_queue_policy', 'has no effect'],
  [
    'dynamic_batching { preserve_ordering: true default_queue_policy { timeout_action: DELAY } }',
    'dynamic_batching.default_queue_policy.timeout_action',
    'DELAY has no effect',
  ],
  [control(''), 'sequence_batching.control_input[0]', 'has no control'],
  [
    control(`${start} control { kind: CONTROL_SEQUENCE_END int32_false_true: [ 0, 1 ] }`),
    'sequence_batching.control_input[0]',
    'has several kinds',
  ],
  [control(start, 'X'), 'sequence_batching.control_input[0].name', 'is an input of model m too'],
  ['sequence_batching { oldest { max_candidate_sequences: -1 } }', 'sequence_batching.oldest.max_candidate_sequences', 'is taken for none'],
  [
    `${state('').slice(0, -1)} state { input_name: "r" output_name: "t" data_type: TYPE_FP32 dims: 1 } }`,
    'sequence_batching.state[1].output_name',
    'is that of another state too',
  ],
  ['sequence_batching { state { input_name: "s" output_name: "t" dims: 1 } }', 'sequence_batching.state[0]', "has no 'data_type'"],
  ['sequence_batching { state { input_name: "s" data_type: TYPE_FP32 dims: 1 } }', 'sequence_batching.state[0]', "has no 'output_name'"],
  [state('use_growable_memory: true'), 'sequence_batching.state[0].use_growable_memory', 'every state may grow'],
  [state('use_same_buffer_for_input_output: true'), 'sequence_batching.state[0].use_same_buffer_for_input_output', 'every state may grow'],
  ['instance_group { passive: true }', 'instance_group', 'are passive: it takes no requests'],
  [resources, 'instance_group[0].rate_limiter.resources[1]', 'Resource "R" is present as both global and device-specific'],
  [
    'parameters { key: "TRITON_BATCH_STRATEGY_PATH" value { string_value: "x" } }',
    'parameters["TRITON_BATCH_STRATEGY_PATH"]',
    'without dynamic batching',
  ],
  [
    'sequence_batching { } parameters { key: "TRITON_BATCH_STRATEGY_PATH" value { string_value: "x" } }',
    'parameters["TRITON_BATCH_STRATEGY_PATH"]',
    'TRITON_BATCH_STRATEGY_PATH cannot be specified with sequence batcher, using default batching strategy',
  ],
])('loads with a warning: %s', async (text, field, sentence) => {
  const { warnings } = await prepare({ config: model + text });
  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toContain(sentence);
  expect(warnings[0]).toMatch(/m\/config\.pbtxt:5:\d+/);
  expect(warnings[0]).toContain(`field ${field}`);
});

const reading = model.replace('identity', 'reader');

it.each([
  ['batch_input { target_name: "X" data_type: TYPE_INT32 source_input: "X" }', 'batch_input[0].target_name', 'is an input of model m too'],
  ['batch_input { data_type: TYPE_INT32 source_input: "X" }', 'batch_input[0]', "has no 'target_name'"],
])('loads with a warning, on a backend that reads what is told of a batch: %s', async (text, field, sentence) => {
  const { warnings } = await prepare({ config: reading + text });
  expect(warnings).toEqual([expect.stringContaining(sentence)]);
  expect(warnings[0]).toContain(`field ${field}`);
});

it.each([
  ['identity', 'batch_input', 'reads no tensors of a whole batch'],
  ['identity', 'batch_output', 'answers each request of a batch by itself and splits no tensor'],
  ['reader', 'batch_output', 'answers each request of a batch by itself and splits no tensor'],
])('refuses what backend %s would leave undone: %s', async (backend, field, why) => {
  const type = field === 'batch_input' ? 'data_type: TYPE_INT32 target_name: "N"' : 'target_name: "Y"';
  const failure = await failureOf(prepare({ config: `${model.replace('identity', backend)}${field} { source_input: "X" ${type} }` }));
  expect(failure.message).toContain(`backend '${backend}' ${why}: '${field}' cannot be set for m (`);
  expect(failure.message).toMatch(new RegExp(`m/config\\.pbtxt:5(:\\d+)?, field ${field},`));
});

it('refuses a resource of two kinds where resources count', async () => {
  const failure = await failureOf(prepare({ config: model + resources, rateLimit: 'execution_count' }));
  expect(failure.message).toContain('Resource "R" is present as both global and device-specific resource in the model configuration. (');
});

it('names an unknown field deep inside, and its message', async () => {
  const { message } = await failureOf(prepare({ config: `${model}sequence_batching { state { input_nam: "s" } }` }));
  expect(message).toContain('Message type "inference.ModelSequenceBatching.State" has no field named "input_nam"');
  expect(message).toContain("wanted 'input_name'");
});

const strategy = (path: string): string =>
  `${model}dynamic_batching { } parameters { key: "TRITON_BATCH_STRATEGY_PATH" value { string_value: "${path}" } }`;

it('brings a batching rule along', async () => {
  const files = { '1/': '', 'own.mjs': 'export const batchStrategy = () => ({ begin: () => 0, includes: () => true });' };
  expect((await prepare({ config: strategy('own.mjs'), files })).strategy).toBeDefined();
  expect((await prepare({ config: model })).strategy).toBeUndefined();
});

it.each([
  ['../../own.mjs', 'Batching library path escapes model repository.'],
  ['missing.mjs', 'm/missing.mjs'],
])('refuses the batching rule %s, and says where', async (path, sentence) => {
  const { message } = await failureOf(prepare({ config: strategy(path) }));
  expect(message).toContain(sentence);
  expect(message).toMatch(/config\.pbtxt:5:\d+, field parameters\["TRITON_BATCH_STRATEGY_PATH"\]/);
});
