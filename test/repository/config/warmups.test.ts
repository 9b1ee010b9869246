import { expect, it } from 'vitest';
import { datatypes } from '../../../src/streams/tensors/datatype.ts';
import { tensorValues } from '../../../src/streams/tensors/tensor-values.ts';
import { failureOf } from '../support/failure.ts';
import { prepare } from '../support/prepare.ts';

const model = `backend: "identity"
max_batch_size: 4
input { name: "X" data_type: TYPE_FP32 dims: [ -1 ] }
output { name: "Y" data_type: TYPE_FP32 dims: [ -1 ] }
`;

const input = (text: string, name = 'X'): string => `inputs { key: "${name}" value { ${text} } }`;
const zeros = input('data_type: TYPE_FP32 dims: 3 zero_data: false');

interface Case {
  readonly text: string;
  readonly base?: string;
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
}

const prepareCase = ({ text, base = model, files = {} }: Case) => prepare({ config: `${base}\n${text}`, files: { '1/': '', ...files } });

const warmupsOf = async (wanted: Case) => (await prepareCase(wanted)).spec.warmups;

it('makes one row of each request of a sample, and leaves out one of batch size 0', async () => {
  const [first, second, ...rest] = await warmupsOf({
    text: `model_warmup [ { batch_size: 2 count: 2 ${zeros} }, { name: "none" ${zeros} }, { name: "one" batch_size: 1 ${zeros} } ]`,
  });
  expect(rest).toEqual([]);
  expect(first).toMatchObject({ name: '', count: 2 });
  expect(first?.requests.map(({ inputs }) => [...inputs].map(([name, { datatype, shape }]) => ({ name, datatype, shape })))).toEqual(
    [0, 1].map(() => [{ name: 'X', datatype: 'FP32', shape: [1, 3] }]),
  );
  expect([...(first?.requests[0]?.inputs.get('X')?.bytes ?? [])]).toEqual(Array(12).fill(0));
  expect(second).toMatchObject({ name: 'one', count: 1 });
  expect(second?.requests).toHaveLength(1);
});

it('has no batch dimension where the model has none, and reshapes', async () => {
  const base =
    'backend: "identity" input { name: "X" data_type: TYPE_FP32 dims: 4 reshape { shape: [ 2, 2 ] } } output { name: "Y" data_type: TYPE_FP32 dims: 4 }';
  const [sample] = await warmupsOf({
    base,
    text: `model_warmup { batch_size: 1 ${input('data_type: TYPE_FP32 dims: 4 zero_data: true')} }`,
  });
  expect(sample?.requests[0]?.inputs.get('X')?.shape).toEqual([2, 2]);
});

it.each(datatypes)('makes random values of %s that are values', async (datatype) => {
  const type = datatype === 'BYTES' ? 'TYPE_STRING' : `TYPE_${datatype}`;
  const base = model.replaceAll('TYPE_FP32', type);
  const [sample] = await warmupsOf({
    base,
    text: `model_warmup { batch_size: 1 ${input(`data_type: ${type} dims: 64 random_data: true`)} }`,
  });
  const tensor = sample?.requests[0]?.inputs.get('X');
  expect(tensor).toMatchObject({ datatype, shape: [1, 64] });
  const values = tensor === undefined ? [] : [...tensorValues(tensor)];
  expect(values).toHaveLength(64);
  if (datatype === 'BYTES') expect(values.every((value) => value instanceof Uint8Array && value.length === 0)).toBe(true);
  else expect(values.every((value) => Number.isFinite(Number(value)))).toBe(true);
  if (datatype !== 'BYTES') expect(new Set(values).size).toBeGreaterThan(1);
});

it('reads files, only as far as they are needed, and strings whole', async () => {
  const [sample] = await warmupsOf({
    text: `model_warmup { batch_size: 1 ${input('data_type: TYPE_FP32 dims: 1 input_data_file: "x.bin"')} ${input('data_type: TYPE_STRING dims: 2 input_data_file: "t.bin"', 'T')} }`,
    base: `${model} input { name: "T" data_type: TYPE_STRING dims: 2 }`,
    files: { 'warmup/x.bin': Uint8Array.of(1, 2, 3, 4, 5), 'warmup/t.bin': Uint8Array.of(1, 0, 0, 0, 97, 0, 0, 0, 0) },
  });
  const inputs = sample?.requests[0]?.inputs;
  expect([...(inputs?.get('X')?.bytes ?? [])]).toEqual([1, 2, 3, 4]);
  expect([...(inputs?.get('T')?.bytes ?? [])]).toEqual([1, 0, 0, 0, 97, 0, 0, 0, 0]);
});

it('gives a sequence model the controls and states that the sample has', async () => {
  const [sample] = await warmupsOf({
    text: `sequence_batching {
      control_input { name: "ID" control { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_STRING } }
      state { input_name: "S" output_name: "T" data_type: TYPE_FP32 dims: 2 }
    }
    model_warmup { name: "s" batch_size: 2 ${zeros}
      ${input('data_type: TYPE_STRING dims: 1 zero_data: true', 'ID')} ${input('data_type: TYPE_FP32 dims: 2 random_data: true', 'S')} }`,
  });
  const inputs = sample?.requests[1]?.inputs;
  expect([...(inputs ?? [])].map(([name, { datatype, shape }]) => `${name} ${datatype} ${shape.join()}`)).toEqual([
    'X FP32 1,3',
    'ID BYTES 1,1',
    'S FP32 1,2',
  ]);
});

it.each<[Case, string, string]>([
  [
    { text: `model_warmup { batch_size: 1 ${input('data_type: TYPE_FP32 dims: -1 zero_data: true')} }` },
    'model_warmup[0].inputs["X"].dims',
    "warmup setting expects all variable-size dimensions are specified for input 'X'",
  ],
  [
    { text: `model_warmup { batch_size: 1 ${input('data_type: TYPE_FP32 dims: 3')} }` },
    'model_warmup[0].inputs["X"]',
    "[request id: <id_unknown>] warmup setting expects input 'X' to have input_data_type set",
  ],
  [
    { text: `model_warmup { batch_size: 1 ${input('data_type: TYPE_FP32 dims: 3 input_data_file: "x"')} }`, files: { 'warmup/x': 'abc' } },
    'model_warmup[0].inputs["X"].input_data_file',
    '[request id: <id_unknown>] warmup setting expects 12 bytes, but the data provided from xonly has 3 bytes',
  ],
  [
    { text: `model_warmup { batch_size: 1 ${input('data_type: TYPE_FP32 dims: 3 input_data_file: "y"')} }` },
    'model_warmup[0].inputs["X"].input_data_file',
    'm/warmup/y: No such file or directory',
  ],
  [
    { text: `model_warmup { batch_size: 1 ${input('data_type: TYPE_FP32 dims: 3 input_data_file: "../config.pbtxt"')} }` },
    'model_warmup[0].inputs["X"].input_data_file',
    'is outside',
  ],
  [
    { text: `model_warmup { name: "s" batch_size: 5 ${zeros} }` },
    'model_warmup[0].batch_size',
    "failed to run warmup sample 's': batch size 5 for 'm', max allowed is 4",
  ],
  [
    { text: `model_warmup { batch_size: 1 ${input('data_type: TYPE_INT32 dims: 3 zero_data: true')} }` },
    'model_warmup[0]',
    "[request id: <id_unknown>] inference input 'X' data-type is 'INT32', but model 'm' expects 'FP32'",
  ],
  [
    { text: 'model_warmup { batch_size: 1 }' },
    'model_warmup[0]',
    "[request id: <id_unknown>] expected 1 inputs but got 0 inputs for model 'm'. Got input(s) [], but missing required input(s) ['X']. Please provide all required input(s).",
  ],
  [
    { text: `model_warmup { batch_size: 1 ${input('data_type: TYPE_FP32 dims: 9007199254740991 zero_data: true')} }` },
    'model_warmup[0].inputs["X"].dims',
    'is too large',
  ],
  [
    { text: `model_warmup { batch_size: 1 ${input('dims: 3 zero_data: true')} }` },
    'model_warmup[0].inputs["X"].data_type',
    "warmup setting expects input 'X' to have data_type set",
  ],
])('refuses %j', async (wanted, field, sentence) => {
  const { message } = await failureOf(prepareCase(wanted));
  expect(message).toContain(sentence);
  expect(message).toMatch(/config\.pbtxt:6:\d+/);
  expect(message).toContain(`field ${field}`);
});
