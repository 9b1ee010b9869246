import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { BatchStrategy } from '../operators/batching/batch-strategy.ts';
import type { Backend, ModelFiles, ModelSignature } from '../streams/inference/backend.ts';
import { InferError, toInferError } from '../streams/inference/error.ts';
import type { ModelSpec } from '../streams/inference/model-spec.ts';
import { type FoundStrategy, loadBatchStrategy } from './batch-strategy.ts';
import { check } from './config/check.ts';
import type { RateLimitMode } from './config/check-resources.ts';
import { checkSignature } from './config/check-signature.ts';
import { type CompileConfig, compile } from './config/compile.ts';
import { compileWarmups } from './config/compile-warmups.ts';
import { completeByModel } from './config/complete-by-model.ts';
import { completeTensors } from './config/complete-tensors.ts';
import { toDocument } from './config/document.ts';
import { ConfigFaults, describeFinding, fault, warning } from './config/findings.ts';
import { type InitialStates, readInitialStates } from './config/initial-state.ts';
import { completeInstanceGroups } from './config/instance-groups.ts';
import { type Labels, readLabels } from './config/labels.ts';
import type { ModelConfig } from './config/model-config.ts';
import { normalise } from './config/normalise.ts';
import { modelConfigType } from './config/proto.ts';
import { type ReadWarmups, readWarmups } from './config/read-warmups.ts';
import { locate } from './locate.ts';
import type { ReadModel } from './read-model.ts';

export interface PrepareConfig {
  readonly backends: ReadonlyMap<string, Backend>;
  readonly autoComplete: boolean;
  /** Numbers of the machine's GPUs. */
  readonly gpus: readonly number[];
  /** Where a config sets no `max_queue_size`. */
  readonly defaultMaxQueueSize: number;
  /** For a model that can batch and does not say how much; 0 for none. */
  readonly defaultMaxBatchSize: (backend: string) => number;
  /** `off` where it is left out. */
  readonly rateLimit?: RateLimitMode;
}

/** A version that can be run. */
export interface PreparedVersion {
  readonly spec: ModelSpec;
  readonly files: ModelFiles;
  readonly backend: Backend;
  /** The batching rule that the model brings along. */
  readonly strategy?: BatchStrategy | undefined;
  /** What the log should say about it. */
  readonly warnings: readonly string[];
}

interface Described {
  /** As its own code has completed it, where it has any that does. */
  readonly config: ModelConfig;
  readonly signature: ModelSignature | undefined;
  /** The model's file could not be read. */
  readonly error: InferError | undefined;
}

const filesOf = ({ folder, config }: ReadModel, version: string, backend: Backend | undefined): ModelFiles => ({
  modelName: folder.name,
  modelDirectory: folder.directory,
  versionDirectory: join(folder.directory, version),
  modelFile: backend?.needsModelFile ? config.default_model_filename : '',
});

const checkFile = async (files: ModelFiles, needsFile: boolean): Promise<void> => {
  const path = join(files.versionDirectory, files.modelFile);
  if (needsFile && (await stat(path).catch(() => undefined)) === undefined) {
    throw new InferError('UNAVAILABLE', `unable to find '${path}' for model instance '${files.modelName}'`);
  }
};

const describe = async (
  { config }: ReadModel,
  backend: Backend | undefined,
  files: ModelFiles,
  { autoComplete }: PrepareConfig,
): Promise<Described> => {
  if (backend === undefined) return { config, signature: undefined, error: undefined };
  try {
    await checkFile(files, backend.needsModelFile);
    const completed = autoComplete ? await backend.completeConfig?.(files, toDocument(modelConfigType, config)) : undefined;
    return {
      config: completed === undefined ? config : completeByModel(config, completed),
      signature: await backend.describe(files),
      error: undefined,
    };
  } catch (error) {
    return { config, signature: undefined, error: toInferError(error) };
  }
};

/** A model without config whose backend knows nothing about it either. */
const isUnknown = ({ written }: ReadModel, config: ModelConfig, backend: Backend | undefined): boolean =>
  written.file === '' && backend !== undefined && config.input.length === 0 && config.output.length === 0;

/** What the model's folder holds besides the model itself. */
interface ReadParts {
  readonly labels: Labels;
  readonly states: InitialStates;
  readonly warmups: ReadWarmups;
}

const readParts = async (config: ModelConfig, modelDirectory: string): Promise<ReadParts> => {
  const [labels, states, warmups] = await Promise.all([
    readLabels(config, modelDirectory),
    readInitialStates(config, modelDirectory),
    readWarmups(config, modelDirectory),
  ]);
  return { labels, states, warmups };
};

const strategyField = 'parameters["TRITON_BATCH_STRATEGY_PATH"]';

/** @throws ConfigFaults */
const findStrategy = async (model: ReadModel, spec: ModelSpec, files: ModelFiles): Promise<FoundStrategy> => {
  try {
    const { strategy, warnings } = await loadBatchStrategy({ spec, files });
    return {
      strategy,
      warnings: locate(
        model,
        warnings.map((text) => warning(strategyField, text)),
      ).map(describeFinding),
    };
  } catch (error) {
    throw new ConfigFaults(locate(model, [fault(strategyField, toInferError(error).message)]));
  }
};

type CompileOptions = Pick<CompileConfig, 'version' | 'signature' | 'defaultMaxQueueSize'>;

/** @throws ConfigFaults */
const compileVersion = (model: ReadModel, config: ModelConfig, parts: ReadParts, options: CompileOptions): ModelSpec => {
  const spec = compile(config, {
    ...options,
    labels: parts.labels.ofOutputs,
    initials: parts.states.initials,
  });
  const { warmups, findings } = compileWarmups(spec, parts.warmups.samples);
  if (findings.length > 0) throw new ConfigFaults(locate(model, findings));
  return { ...spec, warmups };
};

/**
 * Completes, checks and compiles the config of one version.
 *
 * Rejects with ConfigFaults that tell everything that is wrong with the config, or with the backend's InferError when it cannot read the model.
 */
export const prepareVersion = async (model: ReadModel, version: string, options: PrepareConfig): Promise<PreparedVersion> => {
  const { folder, written } = model;
  const { autoComplete, backends, gpus, defaultMaxBatchSize, defaultMaxQueueSize, rateLimit = 'off' } = options;
  const backend = backends.get(model.config.backend);
  const files = filesOf(model, version, backend);
  const { config: described, signature, error } = await describe(model, backend, files, options);
  const completed =
    signature !== undefined && autoComplete
      ? completeTensors(described, signature, defaultMaxBatchSize(described.backend))
      : { config: described, findings: [], notes: [] };
  const config = completeInstanceGroups(normalise(completed.config), gpus);
  const parts = await readParts(config, folder.directory);
  const isCompleted = completed.findings.length === 0;
  const located = locate(model, [
    ...model.findings,
    ...check(config, {
      directoryName: folder.name,
      written: written.config,
      gpus,
      backends: [...backends.keys()],
      gathers: backend?.gathers,
      ignoresWholeInputs: backend?.ignoresWholeInputs,
      answersMany: backend?.answersMany,
      rateLimit,
    }),
    ...completed.findings,
    ...(signature !== undefined && isCompleted ? checkSignature(config, signature) : []),
    ...Object.values(parts).flatMap(({ findings }) => findings),
  ]);
  const faults = located.filter(({ severity }) => severity === 'fault');
  if (faults.length > 0) throw new ConfigFaults([...faults, ...locate(model, error === undefined ? [] : [fault('', error.message)])]);
  if (error !== undefined) throw error;
  if (isUnknown(model, config, backend)) {
    throw new InferError('NOT_FOUND', `model configuration is not provided for model '${folder.name}'`);
  }
  if (backend === undefined) throw new InferError('INTERNAL', `model '${folder.name}' has no backend`);
  const spec = compileVersion(model, config, parts, { version, signature, defaultMaxQueueSize });
  const { strategy, warnings } = await findStrategy(model, spec, files);
  return { spec, files, backend, strategy, warnings: [...completed.notes, ...located.map(describeFinding), ...warnings] };
};
