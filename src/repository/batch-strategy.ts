import { realpath, stat } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { BatchStrategy, StrategyModel } from '../operators/batching/batch-strategy.ts';
import type { ModelFiles } from '../streams/inference/backend.ts';
import { InferError } from '../streams/inference/error.ts';
import type { ModelSpec } from '../streams/inference/model-spec.ts';

export interface BatchStrategySource {
  readonly spec: Pick<ModelSpec, 'name' | 'version' | 'maxBatchSize' | 'parameters' | 'dynamicBatching' | 'sequenceBatching'>;
  readonly files: Pick<ModelFiles, 'modelDirectory' | 'versionDirectory'>;
}

export interface FoundStrategy {
  /** Undefined for a model that has none, or cannot use it. */
  readonly strategy: BatchStrategy | undefined;
  readonly warnings: readonly string[];
}

const pathParameter = 'TRITON_BATCH_STRATEGY_PATH';
const fileNames = ['batchstrategy.js', 'batchstrategy.mjs', 'batchstrategy.ts'];
const none: FoundStrategy = { strategy: undefined, warnings: [] };

const isFile = async (path: string): Promise<boolean> => (await stat(path).catch(() => undefined))?.isFile() ?? false;

const isInside = (directory: string, path: string): boolean => {
  const way = relative(directory, path);
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`);
};

/** The file that the model names, from its folder on. It must lie in the repository, links followed too; or where a link to the model's folder leads. */
const namedFile = async (named: string, { modelDirectory }: BatchStrategySource['files']): Promise<string> => {
  const repository = dirname(modelDirectory);
  const path = resolve(modelDirectory, named);
  const escapes = (): InferError => new InferError('INVALID_ARGUMENT', 'Batching library path escapes model repository.');
  if (!isInside(repository, path)) throw escapes();
  if (!(await isFile(path))) throw new InferError('NOT_FOUND', `Batching library path not found: ${path}`);
  const [real, ...allowed] = await Promise.all([path, repository, modelDirectory].map((one) => realpath(one)));
  if (real === undefined || !allowed.some((directory) => isInside(directory, real))) throw escapes();
  return path;
};

const foundFile = async ({ modelDirectory, versionDirectory }: BatchStrategySource['files']): Promise<string | undefined> => {
  for (const directory of [versionDirectory, modelDirectory]) {
    for (const name of fileNames) {
      const path = join(directory, name);
      if (await isFile(path)) return path;
    }
  }
  return undefined;
};

const isStrategy = (value: unknown): value is BatchStrategy =>
  typeof value === 'object' &&
  value !== null &&
  'begin' in value &&
  typeof value.begin === 'function' &&
  'includes' in value &&
  typeof value.includes === 'function';

const make = async (path: string, { name, version, maxBatchSize, parameters }: StrategyModel): Promise<BatchStrategy> => {
  let strategy: unknown;
  try {
    // Modules stay in memory by their address: one that has changed needs another.
    const module: unknown = await import(`${pathToFileURL(path).href}?changed=${(await stat(path)).mtimeMs}`);
    const factory = typeof module === 'object' && module !== null && 'batchStrategy' in module ? module.batchStrategy : undefined;
    strategy = typeof factory === 'function' ? factory({ name, version, maxBatchSize, parameters }) : undefined;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new InferError('INVALID_ARGUMENT', `unable to load batch strategy '${path}' of model '${name}': ${why}`, { cause: error });
  }
  if (!isStrategy(strategy)) {
    throw new InferError('INVALID_ARGUMENT', `${path} does not define all required custom batching functions for model ${name}`);
  }
  return strategy;
};

/**
 * The batching rule that a model brings along: the module that its parameter TRITON_BATCH_STRATEGY_PATH names, from the model's folder on, else
 * `batchstrategy.js`, `.mjs` or `.ts` in the version's folder, else in the model's. It exports `batchStrategy`, a `BatchStrategyFactory`.
 *
 * Rejects with an InferError when the path leads out of the repository or to no file, or the module does not load or lacks its functions.
 */
export const loadBatchStrategy = async ({ spec, files }: BatchStrategySource): Promise<FoundStrategy> => {
  const named = spec.parameters.get(pathParameter) ?? '';
  if (spec.sequenceBatching !== undefined) {
    const warning = `${pathParameter} cannot be specified with sequence batcher, using default batching strategy`;
    return named === '' ? none : { strategy: undefined, warnings: [warning] };
  }
  if (spec.dynamicBatching === undefined) {
    const warning = `${pathParameter} means nothing to model '${spec.name}' without dynamic batching`;
    return named === '' ? none : { strategy: undefined, warnings: [warning] };
  }
  const path = named === '' ? await foundFile(files) : await namedFile(named, files);
  return path === undefined ? none : { strategy: await make(path, spec), warnings: [] };
};
