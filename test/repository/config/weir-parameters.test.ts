import { expect, it } from 'vitest';
import { failureOf } from '../support/failure.ts';
import { prepare, tensor } from '../support/prepare.ts';

const tensors = `max_batch_size: 4
input [ { name: "IDS" data_type: TYPE_INT32 dims: -1 }, { name: "FIXED" data_type: TYPE_FP32 dims: 4 }, { name: "TEXT" data_type: TYPE_STRING dims: -1 } ]
output [ { name: "OUT" data_type: TYPE_FP32 dims: [ -1, 2 ] }, { name: "WIDE" data_type: TYPE_FP32 dims: [ -1, -1 ] } ]
`;
const batching = 'dynamic_batching { }';
const sequences = `sequence_batching { control_input { name: "E" control { kind: CONTROL_SEQUENCE_END int32_false_true: [ 0, 1 ] } } }`;

const parameters = (values: Readonly<Record<string, string>>): string =>
  Object.entries(values)
    .map(([key, value]) => `parameters { key: "${key}" value { string_value: "${value}" } }`)
    .join('\n');

const configOf = (values: Readonly<Record<string, string>>, scheduler = batching, backend = 'identity'): string =>
  `backend: "${backend}"\n${tensors}${scheduler}\n${parameters(values)}`;

it('reads what has requests share an execution', async () => {
  const { spec, warnings } = await prepare({
    config: configOf({
      weir_batch_group_by: 'tenant',
      weir_batch_unequal_shapes: 'True',
      weir_pad_inputs: 'IDS, TEXT',
      weir_pad_value: '0',
      weir_pad_mask: 'mask:TYPE_BOOL',
      weir_pad_outputs: 'OUT',
    }),
  });
  expect(warnings).toEqual([]);
  expect(spec.batchOptions).toEqual({
    groupByParameter: 'tenant',
    unequalShapes: true,
    padding: { inputs: ['IDS', 'TEXT'], value: 0, mask: { name: 'mask', datatype: 'BOOL' }, outputs: ['OUT'] },
  });
  const mask = await prepare({ config: configOf({ weir_pad_inputs: 'IDS', weir_pad_value: '-7', weir_pad_mask: 'a:b' }) });
  expect(mask.spec.batchOptions.padding).toEqual({ inputs: ['IDS'], value: -7, mask: { name: 'a:b', datatype: 'INT64' }, outputs: [] });
});

it('has none of it by itself', async () => {
  const { spec } = await prepare({ config: configOf({}, sequences) });
  expect(spec.batchOptions).toEqual({ groupByParameter: undefined, unequalShapes: false, padding: undefined });
  expect(spec.sequenceBatching?.endsIdleWithStep).toBe(false);
});

it('reads whether an idle sequence gets a last step', async () => {
  const { spec } = await prepare({ config: configOf({ weir_sequence_end_on_idle: 'true' }, sequences) });
  expect(spec.sequenceBatching?.endsIdleWithStep).toBe(true);
});

it.each<[Readonly<Record<string, string>>, string, string, string]>([
  [{ weir_pad_input: 'IDS' }, batching, 'weir_pad_input', "there is no parameter 'weir_pad_input' for m"],
  [{ weir_batch_group_by: '' }, batching, 'weir_batch_group_by', 'is empty'],
  [{ weir_batch_group_by: 'a' }, '', 'weir_batch_group_by', "needs 'dynamic_batching'"],
  [{ weir_batch_unequal_shapes: 'yes' }, batching, 'weir_batch_unequal_shapes', 'is neither true nor false'],
  [{ weir_batch_unequal_shapes: 'true' }, sequences, 'weir_batch_unequal_shapes', "needs 'dynamic_batching'"],
  [{ weir_pad_inputs: ' , ' }, batching, 'weir_pad_inputs', 'names no input'],
  [{ weir_pad_inputs: 'ID' }, batching, 'weir_pad_inputs', "names 'ID', which is no input"],
  [{ weir_pad_inputs: 'FIXED' }, batching, 'weir_pad_inputs', "names 'FIXED', which has no dimension of any size"],
  [{ weir_pad_inputs: 'IDS' }, '', 'weir_pad_inputs', "needs 'dynamic_batching'"],
  [{ weir_pad_inputs: 'IDS', weir_pad_value: 'x' }, batching, 'weir_pad_value', "is 'x'"],
  [{ weir_pad_inputs: 'IDS', weir_pad_value: '0.5' }, batching, 'weir_pad_value', "which input 'IDS' of TYPE_INT32 cannot hold"],
  [{ weir_pad_inputs: 'TEXT', weir_pad_value: '1' }, batching, 'weir_pad_value', "which input 'TEXT' of TYPE_STRING cannot hold"],
  [{ weir_pad_value: '1' }, batching, 'weir_pad_value', "needs 'weir_pad_inputs'"],
  [{ weir_pad_inputs: 'IDS', weir_pad_mask: 'm:TYPE_STRING' }, batching, 'weir_pad_mask', "is 'm:TYPE_STRING'"],
  [{ weir_pad_inputs: 'IDS', weir_pad_mask: 'FIXED' }, batching, 'weir_pad_mask', "names 'FIXED', which is an input that clients send"],
  [{ weir_pad_mask: 'm' }, batching, 'weir_pad_mask', "needs 'weir_pad_inputs'"],
  [{ weir_pad_inputs: 'IDS', weir_pad_outputs: 'OT' }, batching, 'weir_pad_outputs', "names 'OT', which is no output"],
  [{ weir_pad_inputs: 'IDS', weir_pad_outputs: 'WIDE' }, batching, 'weir_pad_outputs', "more dimensions of any size than input 'IDS'"],
  [{ weir_pad_outputs: 'OUT' }, batching, 'weir_pad_outputs', "needs 'weir_pad_inputs'"],
  [{ weir_sequence_end_on_idle: 'true' }, batching, 'weir_sequence_end_on_idle', 'needs'],
  [{ weir_sequence_end_on_idle: 'true' }, 'sequence_batching { }', 'weir_sequence_end_on_idle', 'a control input of CONTROL_SEQUENCE_END'],
])('refuses %j with %s', async (values, scheduler, field, sentence) => {
  const { message } = await failureOf(prepare({ config: configOf(values, scheduler) }));
  expect(message).toContain(sentence);
  expect(message).toMatch(new RegExp(`config\\.pbtxt:\\d+:\\d+, field parameters\\["${field}"\\]`));
});

it('names the nearest parameter, input and output', async () => {
  const near = await failureOf(prepare({ config: configOf({ weir_pad_input: 'IDS' }) }));
  expect(near.message).toContain("wanted 'weir_pad_inputs', got 'weir_pad_input'");
  const input = await failureOf(prepare({ config: configOf({ weir_pad_inputs: 'ID' }) }));
  expect(input.message).toContain("wanted 'IDS', got 'ID'");
});

it('refuses unequal shapes where the backend makes one tensor of them, and padding of what is ragged', async () => {
  const signature = { inputs: [tensor('A', 'FP32', -1, -1)], outputs: [tensor('C', 'FP32', -1, 4)] };
  const config = `max_batch_size: 4 dynamic_batching { } ${parameters({ weir_batch_unequal_shapes: 'true' })}`;
  const { message } = await failureOf(prepare({ config, signature }));
  expect(message).toContain("is not for backend 'onnxruntime'");
  const ragged = configOf({ weir_pad_inputs: 'IDS' }).replace('dims: -1 }', 'dims: -1 allow_ragged_batch: true }');
  expect((await failureOf(prepare({ config: ragged }))).message).toContain("names 'IDS', which is ragged");
});
