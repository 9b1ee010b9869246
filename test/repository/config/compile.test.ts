import { expect, it } from 'vitest';
import { prepare } from '../support/prepare.ts';

const model = `backend: "identity"
max_batch_size: 4
input { name: "X" data_type: TYPE_FP32 dims: -1 allow_ragged_batch: true }
output { name: "Y" data_type: TYPE_FP32 dims: -1 }
`;

const specOf = async (text: string, files?: Readonly<Record<string, string | Uint8Array>>) =>
  (await prepare({ config: model + text, ...(files === undefined ? {} : { files: { '1/': '', ...files } }) })).spec;

it('reads a dynamic batcher in full, in milliseconds', async () => {
  const { dynamicBatching, maxQueueSize } = await specOf(`dynamic_batching {
    preferred_batch_size: [ 4, 2, 2 ]
    max_queue_delay_microseconds: 1500
    priority_levels: 18446744073709551615
    default_priority_level: 18446744073709551614
    default_queue_policy { timeout_action: DELAY default_timeout_microseconds: 500 allow_timeout_override: true max_queue_size: 9 }
    priority_queue_policy { key: 18446744073709551615 value { max_queue_size: 3 } }
    priority_queue_policy { key: 1 value { } }
  }`);
  const none = { timeoutAction: 'REJECT', defaultTimeoutMs: 0, allowTimeoutOverride: false };
  expect(dynamicBatching).toEqual({
    preferredBatchSizes: [2, 4],
    maxQueueDelayMs: 1.5,
    preserveOrdering: false,
    priorityLevels: 18446744073709551615n,
    defaultPriorityLevel: 18446744073709551614n,
    defaultQueuePolicy: { timeoutAction: 'DELAY', defaultTimeoutMs: 0.5, allowTimeoutOverride: true, maxQueueSize: 9 },
    queuePolicies: new Map([
      [18446744073709551615n, { ...none, maxQueueSize: 3 }],
      [1n, { ...none, maxQueueSize: 100 }],
    ]),
    isStrict: true,
  });
  expect(maxQueueSize).toBe(9);
});

it.each([
  ['', false],
  ['preserve_ordering: true max_queue_delay_microseconds: 5', false],
  ['default_queue_policy { timeout_action: DELAY }', false],
  ['priority_queue_policy { key: 1 value { max_queue_size: 1 } }', false],
  ['default_queue_policy { default_timeout_microseconds: 1 }', true],
  ['default_queue_policy { allow_timeout_override: true }', true],
  ['default_queue_policy { max_queue_size: 1 }', true],
  ['priority_levels: 1 default_priority_level: 1', true],
])('is strict with %s: %s', async (text, isStrict) => {
  const { dynamicBatching } = await specOf(`dynamic_batching { ${text} }`);
  expect(dynamicBatching?.isStrict).toBe(isStrict);
});

it('takes no notice of levels that there are not', async () => {
  const { dynamicBatching } = await specOf('dynamic_batching { default_priority_level: 3 priority_queue_policy { key: 1 value { } } }');
  expect(dynamicBatching).toMatchObject({ priorityLevels: 0n, defaultPriorityLevel: 0n, queuePolicies: new Map() });
});

it('reads a sequence batcher of which nothing is said', async () => {
  const { sequenceBatching, dynamicBatching, config } = await specOf('sequence_batching { }');
  expect(dynamicBatching).toBeUndefined();
  expect(sequenceBatching).toEqual({
    strategy: { kind: 'direct', maxQueueDelayMs: 0, minimumSlotUtilization: 0 },
    maxIdleMs: 1000,
    controls: [],
    states: [],
    isIterative: false,
    endsIdleWithStep: false,
  });
  // What clients see is what Triton shows them.
  expect(config.sequence_batching).toEqual({
    max_sequence_idle_microseconds: 1000000,
    control_input: [],
    state: [],
    iterative_sequence: false,
  });
});

it('reads control inputs of every kind, the last of two in one tensor', async () => {
  const { sequenceBatching } = await specOf(`sequence_batching {
    max_sequence_idle_microseconds: 1
    iterative_sequence: true
    direct { max_queue_delay_microseconds: 250 minimum_slot_utilization: 0.5 }
    control_input [
      { name: "ID" control { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_STRING } },
      { name: "R" control [ { kind: CONTROL_SEQUENCE_READY bool_false_true: [ false, true ] }, { kind: CONTROL_SEQUENCE_START int32_false_true: [ 0, 1 ] } ] },
      { name: "E" control { kind: CONTROL_SEQUENCE_END fp32_false_true: [ -1, 2.5 ] } }
    ]
  }`);
  expect(sequenceBatching).toMatchObject({
    strategy: { kind: 'direct', maxQueueDelayMs: 0.25, minimumSlotUtilization: 0.5 },
    maxIdleMs: 0.001,
    isIterative: true,
  });
  expect(sequenceBatching?.controls).toEqual([
    { kind: 'END', name: 'E', datatype: 'FP32', whenFalse: -1, whenTrue: 2.5 },
    { kind: 'READY', name: 'R', datatype: 'BOOL', whenFalse: 0, whenTrue: 1 },
    { kind: 'CORRID', name: 'ID', datatype: 'BYTES' },
  ]);
});

it('reads the oldest strategy', async () => {
  const usual = await specOf('sequence_batching { oldest { } }');
  expect(usual.sequenceBatching?.strategy).toEqual({
    kind: 'oldest',
    maxCandidateSequences: 4,
    preferredBatchSizes: [4],
    maxQueueDelayMs: 0,
    preserveOrdering: false,
  });
  expect(usual.config.sequence_batching).toMatchObject({ oldest: { max_candidate_sequences: 0, preferred_batch_size: [4] } });
  const set = await specOf(
    'sequence_batching { oldest { max_candidate_sequences: 70 preferred_batch_size: 2 max_queue_delay_microseconds: 100 preserve_ordering: true } }',
  );
  expect(set.sequenceBatching?.strategy).toMatchObject({
    maxCandidateSequences: 70,
    preferredBatchSizes: [2],
    maxQueueDelayMs: 0.1,
    preserveOrdering: true,
  });
});

it('reads states with what they begin with', async () => {
  const bytes = new Uint8Array(Float32Array.of(3, 4).buffer);
  const { sequenceBatching } = await specOf(
    `sequence_batching { state [
      { input_name: "s" output_name: "t" data_type: TYPE_FP32 dims: [ 2, -1 ] initial_state { name: "i" data_type: TYPE_FP32 dims: [ 2, 1 ] data_file: "s.bin" } },
      { input_name: "n" output_name: "o" dims: 1 },
      { input_name: "u" output_name: "v" data_type: TYPE_STRING dims: 2 }
    ] }`,
    { 'initial_state/s.bin': bytes },
  );
  const [first, second, ...rest] = sequenceBatching?.states ?? [];
  expect(rest).toEqual([]);
  expect(first).toMatchObject({ inputName: 's', outputName: 't', datatype: 'FP32', dims: [2, -1], initial: { shape: [1, 2, 1] } });
  expect([...(first?.initial.bytes ?? [])]).toEqual([...bytes]);
  expect(second).toMatchObject({ inputName: 'u', datatype: 'BYTES', initial: { shape: [1, 2] } });
});

it('reads ragged inputs and what the model is told of its batch', async () => {
  const config = `${model.replace('identity', 'gatherer')}
    batch_input { kind: BATCH_ACCUMULATED_ELEMENT_COUNT target_name: [ "A", "B" ] data_type: TYPE_FP32 source_input: "X" }
    batch_input { kind: BATCH_ITEM_SHAPE target_name: "C" data_type: TYPE_INT32 source_input: "X" }
    batch_output { target_name: "Y" source_input: "X" }`;
  const { inputs, batchInputs, batchOutputs } = (await prepare({ config })).spec;
  expect(inputs[0]).toMatchObject({ name: 'X', allowRagged: true });
  expect(batchInputs).toEqual([
    { kind: 'BATCH_ACCUMULATED_ELEMENT_COUNT', names: ['A', 'B'], datatype: 'FP32', source: 'X' },
    { kind: 'BATCH_ITEM_SHAPE', names: ['C'], datatype: 'INT32', source: 'X' },
  ]);
  expect(batchOutputs).toEqual([{ names: ['Y'], source: 'X' }]);
});

it('reads what instances take and how they take turns', async () => {
  const { instanceGroups, usesCache } = await specOf(`response_cache { enable: true } instance_group [
    { count: 2 rate_limiter { resources [ { name: "R" count: 3 }, { name: "G" global: true count: 1 } ] priority: 2 } },
    { passive: true rate_limiter { } }
  ]`);
  expect(instanceGroups).toMatchObject([
    {
      name: 'm_0',
      count: 2,
      isPassive: false,
      resources: [
        { name: 'R', isGlobal: false, count: 3 },
        { name: 'G', isGlobal: true, count: 1 },
      ],
      priority: 2,
    },
    { name: 'm_1', count: 1, isPassive: true, resources: [], priority: 1 },
  ]);
  expect(usesCache).toBe(true);
});
