import { expect, it } from 'vitest';
import { ConfigFaults } from '../../../src/repository/config/findings.ts';
import { parseConfigText } from '../../../src/repository/config/parse.ts';

const faultsOf = (text: string): ConfigFaults => {
  try {
    parseConfigText(text, 'm/config.pbtxt');
  } catch (error) {
    if (error instanceof ConfigFaults) return error;
    throw error;
  }
  throw new Error('it parsed');
};

it('reads the text form: lists, repeats, comments, separators, angle brackets, adjacent strings', () => {
  const { config } = parseConfigText(
    `# a model
     name: "a" 'b', platform: "onnxruntime_onnx";
     input [ { name: "x" data_type: TYPE_FP32 dims: [ -1, 2 ] }, { name: "y" dims: 3 dims: 4 } ]
     output < name: "z" >
     parameters { key: "k" value: { string_value: "v" } }
     parameters: [ { key: "l" value { string_value: "w" } } ]`,
    'm/config.pbtxt',
  );
  expect(config).toMatchObject({
    name: 'ab',
    platform: 'onnxruntime_onnx',
    backend: '',
    max_batch_size: 0,
    input: [
      { name: 'x', data_type: 'TYPE_FP32', dims: [-1, 2] },
      { name: 'y', data_type: 'TYPE_INVALID', dims: [3, 4] },
    ],
    output: [{ name: 'z', label_filename: '' }],
    parameters: { k: { string_value: 'v' }, l: { string_value: 'w' } },
  });
});

it.each([
  // An unfilled template; the place is that of the value.
  ['name: "m"\nmax_batch_size: @{max_batch_size}'.replace('@', '$'), '2:17', 'field max_batch_size', 'integer value expected', 'got $'],
  [
    'platform: "x"\ninput {\n  nmae: "y"\n}',
    '3:3',
    'field input[0].nmae',
    'Message type "inference.ModelInput" has no field named "nmae"',
    "wanted 'name'",
  ],
  [
    'sequence_batching {\n state { use_growable_memroy: true } }',
    '2:10',
    'state[0].use_growable_memroy',
    'has no field named',
    "wanted 'use_growable_memory'",
  ],
  ['ensemble_scheduling { step [\n{ {', '2', 'config.pbtxt', "illegal field name '{'", ''],
  ['input { dims: [ -1 ][ -1 ] }', '1:26', 'config.pbtxt', 'failed to read text proto', ''],
  ['input [\n{ data_type: TYPE_FLOAT } ]', '2:14', 'field input[0].data_type', 'enum value expected', 'TYPE_FP32'],
  ['input { optional: true }\ninput { optional: yes }', '2:19', 'field input[1].optional', 'bool value expected', 'got yes'],
  ['dynamic_batching {}\nsequence_batching {\n}', '3:1', 'config.pbtxt', 'scheduling_choice: multiple values', ''],
  ['max_batch_size: 1\nmax_batch_size: 2', '2:17', 'field max_batch_size', 'multiple values', ''],
  ['max_batch_size: 3000000000', '1:17', 'field max_batch_size', 'integer value out of range', ''],
  ['dynamic_batching { max_queue_delay_microseconds: -1 }', '1:51', 'field dynamic_batching.max_queue_delay_microseconds', 'unsigned', ''],
  ['instance_group [ { kind: KIND_CPU }', '1', 'config.pbtxt', "expected ']'", ''],
])('tells of %j where it goes wrong', (text, place, ...parts) => {
  const { message, code } = faultsOf(text);
  expect(code).toBe('INVALID_ARGUMENT');
  expect(message).toMatch(/^failed to read text proto from m\/config\.pbtxt: /);
  expect(message).toContain(`m/config.pbtxt:${place}`);
  for (const part of parts) expect(message).toContain(part);
});

it('keeps 64 bits exact', () => {
  const { config } = parseConfigText(
    'dynamic_batching { priority_levels: 18446744073709551615 max_queue_delay_microseconds: 9007199254740991 }',
    'm/config.pbtxt',
  );
  expect(config.dynamic_batching).toMatchObject({
    priority_levels: 18446744073709551615n,
    max_queue_delay_microseconds: 9007199254740991,
  });
});

it('takes a key that JavaScript has a meaning for', () => {
  const { config } = parseConfigText('parameters { key: "__proto__" value { string_value: "x" } }', 'm/config.pbtxt');
  expect(Object.entries(config.parameters)).toEqual([['__proto__', { string_value: 'x' }]]);
});

it('refuses a text that nests without end, and one that is too long', () => {
  expect(faultsOf('input {'.repeat(100_000)).message).toContain('failed to read text proto');
  expect(faultsOf(' '.repeat(16 * 1024 * 1024 + 1)).message).toContain('wanted at most 16777216 characters');
});
