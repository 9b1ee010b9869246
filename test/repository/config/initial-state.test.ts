import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type InitialStates, readInitialStates } from '../../../src/repository/config/initial-state.ts';
import { parseConfigText } from '../../../src/repository/config/parse.ts';
import { encodeBytesElements } from '../../../src/streams/tensors/bytes-elements.ts';
import type { Tensor } from '../../../src/streams/tensors/tensor.ts';
import { tensorStrings, tensorValues } from '../../../src/streams/tensors/tensor-values.ts';
import { type Files, folderOf } from '../support/folders.ts';

const read = async (states: string, { files = {}, head = '' }: { readonly files?: Files; readonly head?: string } = {}) => {
  const { config } = parseConfigText(`name: "m" ${head} sequence_batching { ${states} }`, 'config.pbtxt');
  const directory = await folderOf({ 'elsewhere.bin': 'xxxx', ...files });
  return { directory, ...(await readInitialStates(config, directory)) };
};

const state = (type: string, dims: string, initial = '', name = 'S'): string =>
  `state { input_name: "${name}" output_name: "${name}_OUT" data_type: ${type} dims: ${dims} ${initial === '' ? '' : `initial_state { ${initial} }`} }`;

const shown = ({ initials }: InitialStates) =>
  initials.map((tensor: Tensor) => ({
    datatype: tensor.datatype,
    shape: tensor.shape,
    values: tensor.datatype === 'BYTES' ? tensorStrings(tensor) : [...tensorValues(tensor)],
  }));

const texts = ({ findings }: InitialStates): readonly string[] =>
  findings.map(({ severity, field, text }) => `${severity} ${field} ${text}`);

const floats = (...values: number[]): Uint8Array => new Uint8Array(new Float32Array(values).buffer);

it('is zeros where the config says nothing, 1 for -1, with a batch dimension where the model has one', async () => {
  const states = `${state('TYPE_FP32', '[2, -1]')} ${state('TYPE_INT64', '[]', '', 'T')} ${state('TYPE_STRING', '[2]', '', 'U')}`;
  const found = await read(states);
  expect(shown(found)).toEqual([
    { datatype: 'FP32', shape: [2, 1], values: [0, 0] },
    { datatype: 'INT64', shape: [], values: [0n] },
    { datatype: 'BYTES', shape: [2], values: ['', ''] },
  ]);
  expect(found.findings).toEqual([]);
  expect(shown(await read(states, { head: 'max_batch_size: 1' })).map(({ shape }) => shape)).toEqual([[1, 2, 1], [1], [1, 2]]);
});

it('has the dims of the initial state where there are some, and no batch dimension is written there', async () => {
  const zeros = await read(state('TYPE_INT32', '[-1]', 'name: "i" data_type: TYPE_INT32 dims: [3] zero_data: false'));
  expect(shown(zeros)).toEqual([{ datatype: 'INT32', shape: [3], values: [0, 0, 0] }]);
  const batching = await read(state('TYPE_INT32', '[-1]', 'name: "i" data_type: TYPE_INT32 dims: [3] zero_data: true'), {
    head: 'max_batch_size: 8',
  });
  expect(shown(batching)).toEqual([{ datatype: 'INT32', shape: [1, 3], values: [0, 0, 0] }]);
});

it('gives two states their own, though their initial states share a name', async () => {
  const initial = (file: string) => `name: "i" data_type: TYPE_FP32 dims: [1] data_file: "${file}"`;
  const found = await read(`${state('TYPE_FP32', '[1]', initial('a'))} ${state('TYPE_FP32', '[1]', initial('b'), 'T')}`, {
    files: { 'initial_state/a': floats(1), 'initial_state/b': floats(2) },
  });
  expect(shown(found).map(({ values }) => values)).toEqual([[1], [2]]);
  expect(found.findings).toEqual([]);
});

it('reads numbers and strings from files', async () => {
  const words = encodeBytesElements(['', 'grün', 'x']);
  const found = await read(
    `${state('TYPE_FP32', '[2]', 'name: "i" data_type: TYPE_FP32 dims: [2] data_file: "a.bin"')} ${state('TYPE_STRING', '[3]', 'name: "i" data_type: TYPE_STRING dims: [3] data_file: "deep/b.bin"', 'T')}`,
    { files: { 'initial_state/a.bin': floats(1.5, -2), 'initial_state/deep/b.bin': words } },
  );
  expect(shown(found)).toEqual([
    { datatype: 'FP32', shape: [2], values: [1.5, -2] },
    { datatype: 'BYTES', shape: [3], values: ['', 'grün', 'x'] },
  ]);
  expect(found.findings).toEqual([]);
});

it('warns of bytes that are left over', async () => {
  const found = await read(
    `${state('TYPE_FP32', '[1]', 'name: "i" dims: [1] data_file: "a"')} ${state('TYPE_STRING', '[1]', 'name: "i" dims: [1] data_file: "b"', 'T')}`,
    { files: { 'initial_state/a': floats(1, 2), 'initial_state/b': encodeBytesElements(['one', 'two']) } },
  );
  expect(shown(found).map(({ values }) => values)).toEqual([[1], ['one']]);
  expect(texts(found)).toEqual([
    `warning sequence_batching.state[0].initial_state[0].data_file the last 4 bytes of '${join(found.directory, 'initial_state', 'a')}' are not used`,
    `warning sequence_batching.state[1].initial_state[0].data_file the last 7 bytes of '${join(found.directory, 'initial_state', 'b')}' are not used`,
  ]);
});

it('refuses data that is too short, in the words of Triton', async () => {
  const found = await read(
    `${state('TYPE_FP32', '[3]', 'name: "i" dims: [3] data_file: "a"')} ${state('TYPE_STRING', '[2]', 'name: "i" dims: [2] data_file: "b"', 'T')}`,
    { files: { 'initial_state/a': floats(1, 2), 'initial_state/b': encodeBytesElements(['x']) } },
  );
  expect(texts(found)).toEqual([
    'fault sequence_batching.state[0].initial_state[0].data_file initial_state setting expects 12 bytes, but the data provided from aonly has 8 bytes.',
    'fault sequence_batching.state[1].initial_state[0].data_file initial_state setting expects 8 bytes, but the data provided from bonly has 5 bytes.',
  ]);
  expect(shown(found).map(({ shape }) => shape)).toEqual([[3], [2]]);
});

it('refuses strings that are cut off', async () => {
  const found = await read(state('TYPE_STRING', '[1]', 'name: "i" dims: [1] data_file: "a"'), {
    files: { 'initial_state/a': new Uint8Array([9, 0, 0, 0, 65]) },
  });
  expect(texts(found)).toEqual([
    `fault sequence_batching.state[0].initial_state[0].data_file no strings in '${join(found.directory, 'initial_state', 'a')}': expected 1 string elements, got 0`,
  ]);
});

it.each(['../elsewhere.bin', 'x/../../elsewhere.bin', '', '/etc/hostname'])(
  'does not read %j, which is outside the folder',
  async (file) => {
    const found = await read(state('TYPE_UINT8', '[1]', `name: "i" dims: [1] data_file: "${file}"`));
    expect(shown(found)).toEqual([{ datatype: 'UINT8', shape: [1], values: [0] }]);
    expect(texts(found)).toEqual([expect.stringMatching(/^fault .*data_file initial state path '.*' is outside '.*initial_state'$/)]);
  },
);

it('refuses a file that is not there', async () => {
  const found = await read(state('TYPE_UINT8', '[1]', 'name: "i" dims: [1] data_file: "none"'));
  expect(texts(found)).toEqual([
    `fault sequence_batching.state[0].initial_state[0].data_file failed to open text file for read ${join(found.directory, 'initial_state', 'none')}: No such file or directory`,
  ]);
});

it('refuses an initial state without data, in the words of Triton', async () => {
  const found = await read(state('TYPE_UINT8', '[1]', 'name: "i" dims: [1]'));
  expect(texts(found)).toEqual([
    "fault sequence_batching.state[0].initial_state[0] initial_state setting expects state'S' to have state_data set",
  ]);
});

it('refuses a state that no message could carry, before any memory is taken', async () => {
  const found = await read(state('TYPE_FP32', '[4611686018427387904, 4611686018427387904]'));
  expect(texts(found)).toEqual(["fault sequence_batching.state[0].dims initial state of state 'S' for model 'm' is too large"]);
});

it('has nothing to read for a model without states', async () => {
  const { config } = parseConfigText('name: "m"', 'config.pbtxt');
  expect(await readInitialStates(config, '/nowhere')).toEqual({ initials: [], findings: [] });
});
