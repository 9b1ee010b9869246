import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { InferError } from '../streams/inference/error.ts';
import { foldersIn } from './folders-in.ts';

export interface ModelFolder {
  readonly name: string;
  /** Absolute. */
  readonly directory: string;
}

export interface Scan {
  /** By name, ascending. */
  readonly folders: readonly ModelFolder[];
  /** Names that several repositories have, ascending: none of them is loaded. */
  readonly duplicates: readonly string[];
}

const modelsIn = async (repository: string): Promise<readonly string[]> => {
  const found = await stat(repository).catch((cause: unknown) => {
    throw new InferError('INTERNAL', `failed to stat file ${repository}`, { cause });
  });
  if (!found.isDirectory()) throw new InferError('INVALID_ARGUMENT', `repository path is not a valid directory: ${repository}`);
  return foldersIn(repository).catch((cause: unknown) => {
    throw new InferError('INTERNAL', `failed to open directory ${repository}`, { cause });
  });
};

/**
 * Finds the models of all repositories: every sub-folder is one, hidden ones too.
 *
 * Rejects with an InferError when a repository is missing or is no folder.
 */
export const scan = async (paths: readonly string[]): Promise<Scan> => {
  if (paths.length === 0) throw new InferError('INVALID_ARGUMENT', '--model-repository must be specified');
  const found = new Map<string, readonly string[]>();
  for (const repository of new Set(paths.map((path) => resolve(path)))) {
    for (const name of await modelsIn(repository)) found.set(name, [...(found.get(name) ?? []), join(repository, name)]);
  }
  const sorted = [...found].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return {
    folders: sorted.flatMap(([name, [directory = '', ...others]]) => (others.length === 0 ? [{ name, directory }] : [])),
    duplicates: sorted.flatMap(([name, directories]) => (directories.length > 1 ? [name] : [])),
  };
};
