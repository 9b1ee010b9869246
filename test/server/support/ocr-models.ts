import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type ModelRepository, modelRepository } from './model-repository.ts';

const examples = join(import.meta.dirname, '..', '..', '..', 'examples');
const built = join(examples, 'models');
const parts = ['ocr_image', 'ocr_detect', 'ocr_lines', 'ocr_page', 'ocr_text', 'ocr', 'ocr_stream'];

/** The test image that set-up has drawn. */
export const page = (): Promise<Buffer> => readFile(join(examples, 'data', 'page.png'));

/** The example models that read text, as set-up has built them, and no other. */
export const ocrModels = async (recogniser: 'text_line' | 'held text_line'): Promise<ModelRepository> => {
  const repository = await modelRepository({});
  // Links, so that what they import is found from where they are.
  for (const name of parts) await symlink(join(built, name), join(repository.path, name));
  if (recogniser === 'text_line') await symlink(join(built, 'text_line'), join(repository.path, 'text_line'));
  else await writeHeld(repository.path);
  return repository;
};

/** Whoever asks `text_line` for a line this narrow ends the hold. */
export const releasingWidth = 8;

const heldConfig = `backend: "javascript"
input { name: "x" data_type: TYPE_FP32 dims: [ -1, 3, 48, -1 ] }
output { name: "CHARACTERS" data_type: TYPE_INT32 dims: [ -1, -1 ] }
output { name: "PROBABILITIES" data_type: TYPE_FP32 dims: [ -1, -1 ] }
parameters { key: "hold" value: { string_value: "7" } }`;

const heldModel = `import { defineModel, perRequest } from 'weir/backend';
let release = () => {};
const released = new Promise((resolve) => { release = resolve; });
let seen = 0;
export const model = defineModel({
  execute: perRequest(async (request, context) => {
    const x = request.input('x', 'FP32');
    if (x.shape[3] === ${releasingWidth}) release();
    else if (++seen === Number(context.parameters.get('hold'))) await Promise.race([released, new Promise((resolve) => request.signal.addEventListener('abort', resolve))]);
    const answer = await context.infer({ model: 'recogniser', inputs: { x }, outputs: ['CHARACTERS', 'PROBABILITIES'] }, { request });
    return { outputs: { CHARACTERS: answer.output('CHARACTERS'), PROBABILITIES: answer.output('PROBABILITIES') } };
  }),
});`;

/** The recogniser under another name, and in its place a model that keeps the seventh line from it until it is told otherwise. */
const writeHeld = async (path: string): Promise<void> => {
  const files = { recogniser: join(path, 'recogniser'), held: join(path, 'text_line') };
  for (const folder of [files.recogniser, join(files.held, '1')]) await mkdir(folder, { recursive: true });
  const config = await readFile(join(built, 'text_line', 'config.pbtxt'), 'utf8');
  await writeFile(join(files.recogniser, 'config.pbtxt'), config.replace('name: "text_line"', 'name: "recogniser"'));
  await symlink(join(built, 'text_line', '1'), join(files.recogniser, '1'));
  await symlink(join(built, 'text_line', 'characters.txt'), join(files.held, 'characters.txt'));
  await writeFile(join(files.held, 'config.pbtxt'), heldConfig);
  await writeFile(join(files.held, '1', 'model.ts'), heldModel);
};
