import { cpSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Question } from '../load/load.ts';

const source = join(import.meta.dirname, '..', '..', 'examples', 'models', 'vad');

export const vadModel = join(source, '1', 'model.onnx');

/** The voice detector twice: as it is, and with the default scheduler, which runs one request at a time. */
export const writeVadRepository = (): string => {
  const repository = mkdtempSync(join(tmpdir(), 'weir-bench-'));
  for (const name of ['vad_batched', 'vad_single']) {
    mkdirSync(join(repository, name));
    cpSync(join(source, '1'), join(repository, name, '1'), { recursive: true });
    const config = readFileSync(join(source, 'config.pbtxt'), 'utf8').replace('name: "vad"', `name: "${name}"`);
    writeFileSync(join(repository, name, 'config.pbtxt'), name === 'vad_single' ? config.replace('dynamic_batching { }', '') : config);
  }
  return repository;
};

/** What one client asks; `rows` at a time. */
export const vadQuestion = (model: string, rows = 1): Question => ({
  model,
  inputs: [
    { name: 'AUDIO', shape: [rows, 512] },
    { name: 'CONTEXT', shape: [rows, 64] },
    { name: 'STATE', shape: [rows, 2, 128] },
  ],
  outputs: [
    { name: 'SPEECH', shape: [rows, 1] },
    { name: 'CONTEXT_OUT', shape: [rows, 64] },
    { name: 'STATE_OUT', shape: [rows, 2, 128] },
  ],
  isIdentity: false,
});
