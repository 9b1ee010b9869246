import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** `config.pbtxt` of a model that answers with its input, after `delayMs`. */
export const identityConfig = (delayMs = 0): string => `
backend: "identity"
max_batch_size: 8
input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [ -1 ] } ]
output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ -1 ] } ]
parameters { key: "execute_delay_ms" value: { string_value: "${delayMs}" } }
`;

/** `config.pbtxt` of a model that repeats texts. */
export const textConfig = `
backend: "identity"
input [ { name: "TEXT" data_type: TYPE_STRING dims: [ -1 ] } ]
output [ { name: "ECHO" data_type: TYPE_STRING dims: [ -1 ] } ]
`;

export interface ModelRepository extends AsyncDisposable {
  readonly path: string;
}

/** A folder of models with one version each, from their configs; gone when it is disposed of. */
export const modelRepository = async (configs: Readonly<Record<string, string>>): Promise<ModelRepository> => {
  const path = await mkdtemp(join(tmpdir(), 'weir-models-'));
  for (const [name, config] of Object.entries(configs)) {
    await mkdir(join(path, name, '1'), { recursive: true });
    await writeFile(join(path, name, 'config.pbtxt'), config);
  }
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
};
