import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { InferError } from '../streams/inference/error.ts';
import type { Log } from '../streams/inference/log.ts';
import { completeBackend } from './config/complete-backend.ts';
import type { Finding } from './config/findings.ts';
import type { ModelConfig } from './config/model-config.ts';
import type { WrittenConfig } from './config/read-config.ts';
import { readConfig } from './config/read-config.ts';
import { foldersIn } from './folders-in.ts';
import type { ModelFolder } from './scan.ts';
import { versionFolders } from './version-folders.ts';
import { chooseVersions } from './version-policy.ts';

/** A model folder, read as far as all of its versions have in common. */
export interface ReadModel {
  readonly folder: ModelFolder;
  readonly written: WrittenConfig;
  /** With `name`, `platform`, `backend` and `default_model_filename` as far as they could be found. */
  readonly config: ModelConfig;
  readonly findings: readonly Finding[];
  /** Versions to serve, ascending; at least one. */
  readonly versions: readonly string[];
}

export interface ReadModelConfig {
  readonly autoComplete: boolean;
  readonly log: Log;
}

/** Reads a model's folder and config. Rejects with an InferError where not even its versions can be told. */
export const readModel = async (folder: ModelFolder, { autoComplete, log }: ReadModelConfig): Promise<ReadModel> => {
  const { name, directory } = folder;
  const written = await readConfig(directory, { mayBeMissing: autoComplete });
  const names = await foldersIn(directory).catch((cause: unknown) => {
    throw new InferError('INTERNAL', `failed to open directory ${directory}`, { cause });
  });
  const { versions: present, warnings } = versionFolders(names);
  for (const warning of warnings) log.warning(`${warning} for model '${name}'`);
  const { served, missing } = chooseVersions(written.config.version_policy ?? { latest: { num_versions: 1 } }, present);
  for (const version of missing)
    log.warning(`version ${version} is specified for model '${name}', but the version directory is not present`);
  if (served.length === 0) {
    const text = `at least one version must be available under the version policy of model '${name}'`;
    throw new InferError('INVALID_ARGUMENT', text);
  }
  const [first = ''] = present.toSorted();
  const files = await readdir(join(directory, first)).catch(() => []);
  return { folder, written, versions: served, ...completeBackend(written.config, name, new Set(files)) };
};
