import { cpSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Question } from '../load/load.ts';

const source = join(import.meta.dirname, '..', '..', 'examples', 'models', 'vad');

export const vadModel = join(source, '1', 'model.onnx');

/** The voice detector without sequences: the caller carries its states, so that its requests batch with or without regard for order. */
const statelessConfig = (name: string, scheduler: string): string => `
name: "${name}"
backend: "onnxruntime"
max_batch_size: 64
input [
  { name: "AUDIO" data_type: TYPE_FP32 dims: [ 512 ] },
  { name: "CONTEXT" data_type: TYPE_FP32 dims: [ 64 ] },
  { name: "STATE" data_type: TYPE_FP32 dims: [ 2, 128 ] }
]
output [
  { name: "SPEECH" data_type: TYPE_FP32 dims: [ 1 ] },
  { name: "CONTEXT_OUT" data_type: TYPE_FP32 dims: [ 64 ] },
  { name: "STATE_OUT" data_type: TYPE_FP32 dims: [ 2, 128 ] }
]
${scheduler}
instance_group [ { kind: KIND_CPU count: 1 } ]
parameters { key: "intra_op_thread_count" value: { string_value: "1" } }
`;

/** Adds the stateless voice detector to a repository under a name of its own. */
export const writeStatelessVad = (repository: string, name: string, scheduler = 'dynamic_batching { }'): void => {
  mkdirSync(join(repository, name));
  cpSync(join(source, '1'), join(repository, name, '1'), { recursive: true });
  writeFileSync(join(repository, name, 'config.pbtxt'), statelessConfig(name, scheduler));
};

/** The voice detector twice: in batches, and with the default scheduler, which runs one request at a time. */
export const writeVadRepository = (): string => {
  const repository = mkdtempSync(join(tmpdir(), 'weir-bench-'));
  writeStatelessVad(repository, 'vad_batched');
  writeStatelessVad(repository, 'vad_single', '');
  return repository;
};

/** What one client of the stateless detector asks; `rows` at a time. */
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
