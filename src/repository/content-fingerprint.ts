import type { Hash } from 'node:crypto';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import type { ModelFiles } from '../streams/inference/backend.ts';
import { InferError } from '../streams/inference/error.ts';
import type { ModelSpec } from '../streams/inference/model-spec.ts';

/** So much is hashed at a time: a small part of a millisecond of the event loop. */
const pieceBytes = 128 * 1024;

/** Python writes it as it runs; what it is made of is hashed. */
const derivedFolder = '__pycache__';

const isVersion = (name: string): boolean => /^\d+$/.test(name);

/** Path below `directory` and absolute path of every file in it, links followed, without the folders that `isLeftOut` names. */
async function* filesIn(
  directory: string,
  isLeftOut: (name: string) => boolean,
  inside: readonly string[] = [],
): AsyncGenerator<readonly [string, string]> {
  const real = await realpath(directory);
  if (inside.includes(real)) return;
  for (const name of (await readdir(directory)).toSorted()) {
    const path = join(directory, name);
    if (!(await stat(path)).isDirectory()) {
      yield [name, path];
    } else if (name !== derivedFolder && !isLeftOut(name)) {
      for await (const [below, file] of filesIn(path, () => false, [...inside, real])) yield [`${name}/${below}`, file];
    }
  }
}

const addFile = async (hash: Hash, name: string, path: string): Promise<void> => {
  const { size } = await stat(path);
  hash.update(JSON.stringify([name, size]));
  for await (const piece of createReadStream(path, { highWaterMark: pieceBytes })) hash.update(piece);
};

const numbersAsText = (_key: string, value: unknown): unknown => (typeof value === 'bigint' ? `${value}n` : value);

/**
 * SHA-256 over what a version is made of: its config as it is run, and every file of the model's folder except those of other versions and what Python makes
 * of its sources. Equal on every server that has the same.
 *
 * Rejects with InferError INTERNAL when a file cannot be read.
 */
export const contentFingerprint = async (spec: ModelSpec, { modelDirectory, versionDirectory }: ModelFiles): Promise<string> => {
  const hash = createHash('sha256').update(JSON.stringify(spec.config, numbersAsText));
  const ownVersion = versionDirectory.split(sep).at(-1);
  try {
    for await (const [name, path] of filesIn(modelDirectory, (folder) => isVersion(folder) && folder !== ownVersion)) {
      await addFile(hash, name, path);
    }
  } catch (cause) {
    throw new InferError('INTERNAL', `unable to read the files of model '${spec.name}' version ${spec.version}`, { cause });
  }
  return hash.digest('hex');
};
