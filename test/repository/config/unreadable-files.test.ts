import { expect, it } from 'vitest';
import { failureOf } from '../support/failure.ts';
import type { Files } from '../support/folders.ts';
import { prepare } from '../support/prepare.ts';

const model = 'backend: "identity" input { name: "X" data_type: TYPE_FP32 dims: 2 } output { name: "Y" data_type: TYPE_FP32 dims: 2';
const warmUp = 'model_warmup { batch_size: 1 inputs { key: "X" value { data_type: TYPE_FP32 dims: 2 input_data_file: "f" } } }';
const state = `sequence_batching { state { input_name: "s" output_name: "t" data_type: TYPE_FP32 dims: 2
  initial_state { name: "i" data_type: TYPE_FP32 dims: 2 data_file: "f" } } }`;

const named = [
  ['a label file', `${model} label_filename: "f" }`, 'f', 'output[0].label_filename'],
  ['a file of a warm-up', `${model} } ${warmUp}`, 'warmup/f', 'model_warmup[0].inputs["X"].input_data_file'],
  ['a file of an initial state', `${model} } ${state}`, 'initial_state/f', 'sequence_batching.state[0].initial_state[0].data_file'],
] as const;

const failing = (config: string, files: Files = {}) => failureOf(prepare({ config, files: { '1/': '', ...files } }));

// Of Triton come the code and the sentence.
it.each(named)('says INTERNAL of %s that is not there, or is a folder', async (_what, config, path, field) => {
  const missing = await failing(config);
  expect(missing.code).toBe('INTERNAL');
  expect(missing.message).toMatch(new RegExp(`^failed to open text file for read /.*/m/${path}: No such file or directory \\(`));
  expect(missing.message).toContain(`field ${field}`);
  const folder = await failing(config, { [`${path}/`]: '' });
  expect(folder.code).toBe('INTERNAL');
  expect(folder.message).toContain('failed to open text file for read ');
});

it.each(named)('says INVALID_ARGUMENT where more is wrong than %s', async (_what, config) => {
  const failure = await failing(`${config} max_batch_size: -1`);
  expect(failure.code).toBe('INVALID_ARGUMENT');
  expect(failure.message).toContain('failed to open text file for read ');
  expect(failure.message).toContain("'max_batch_size'");
});

it('says INTERNAL of a config that cannot be read', async () => {
  const folder = await failureOf(prepare({ files: { '1/': '', 'config.pbtxt/': '' } }));
  expect(folder.code).toBe('INTERNAL');
  expect(folder.message).toMatch(/^failed to open text file for read .*\/m\/config\.pbtxt: /);
  const missing = await failureOf(prepare({ autoComplete: false }));
  expect(missing).toMatchObject({ code: 'INTERNAL', message: expect.stringContaining('config.pbtxt: No such file or directory') });
});
