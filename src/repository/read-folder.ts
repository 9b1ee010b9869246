import type { Subscription } from 'rxjs';
import { toInferError } from '../streams/inference/error.ts';
import { cancelledError } from './cancelled-error.ts';
import type { ReadModel, ReadModelConfig } from './read-model.ts';
import { readModel } from './read-model.ts';
import type { Registry } from './registry.ts';
import type { ModelFolder } from './scan.ts';
import { statusText } from './status-text.ts';

export interface ReadFolderConfig extends ReadModelConfig {
  readonly registry: Registry;
  /** Of everything that is loaded. */
  readonly lifetime: Subscription;
}

/** Enters a model into the registry, and reads its folder. Undefined where that cannot be read: why is in the registry and in the log. */
export const readFolder = async (folder: ModelFolder, config: ReadFolderConfig): Promise<ReadModel | undefined> => {
  const { name } = folder;
  const { registry, lifetime, log } = config;
  if (lifetime.closed) {
    registry.add(name, statusText(cancelledError()));
    return undefined;
  }
  registry.add(name);
  try {
    const model = await readModel(folder, config);
    if (lifetime.closed) throw cancelledError();
    return model;
  } catch (error) {
    const cause = toInferError(error);
    registry.add(name, statusText(cause));
    if (!lifetime.closed) log.error(`Poll failed for model directory '${name}': ${cause.message}`);
    return undefined;
  }
};
