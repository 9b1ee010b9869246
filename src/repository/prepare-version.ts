import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Backend, ModelFiles, ModelSignature } from '../streams/inference/backend.ts';
import { InferError, toInferError } from '../streams/inference/error.ts';
import type { ModelSpec } from '../streams/inference/model-spec.ts';
import { check } from './config/check.ts';
import { checkSignature } from './config/check-signature.ts';
import { compile } from './config/compile.ts';
import { completeTensors } from './config/complete-tensors.ts';
import type { Finding, LocatedFinding } from './config/findings.ts';
import { ConfigFaults, describeFinding, fault } from './config/findings.ts';
import { completeInstanceGroups } from './config/instance-groups.ts';
import { readLabels } from './config/labels.ts';
import type { ModelConfig } from './config/model-config.ts';
import { normalise } from './config/normalise.ts';
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
}

/** A version that can be run. */
export interface PreparedVersion {
  readonly spec: ModelSpec;
  readonly files: ModelFiles;
  readonly backend: Backend;
  /** What the log should say about it. */
  readonly warnings: readonly string[];
}

interface Described {
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

const describe = async (backend: Backend | undefined, files: ModelFiles): Promise<Described> => {
  if (backend === undefined) return { signature: undefined, error: undefined };
  try {
    await checkFile(files, backend.needsModelFile);
    return { signature: await backend.describe(files), error: undefined };
  } catch (error) {
    return { signature: undefined, error: toInferError(error) };
  }
};

const locate = ({ written }: ReadModel, findings: readonly Finding[]): readonly LocatedFinding[] =>
  findings.map((finding) => ({
    ...finding,
    file: written.file,
    place: finding.field === '' ? undefined : written.positions?.find(finding.field),
  }));

/** A model without config whose backend knows nothing about it either. */
const isUnknown = ({ written }: ReadModel, config: ModelConfig, backend: Backend | undefined): boolean =>
  written.file === '' && backend !== undefined && config.input.length === 0 && config.output.length === 0;

/**
 * Completes, checks and compiles the config of one version.
 *
 * Rejects with ConfigFaults that tell everything that is wrong with the config, or with the backend's InferError when it cannot read the model.
 */
export const prepareVersion = async (model: ReadModel, version: string, options: PrepareConfig): Promise<PreparedVersion> => {
  const { folder, written } = model;
  const backend = options.backends.get(model.config.backend);
  const files = filesOf(model, version, backend);
  const { signature, error } = await describe(backend, files);
  const completed =
    signature !== undefined && options.autoComplete
      ? completeTensors(model.config, signature, options.defaultMaxBatchSize(model.config.backend))
      : { config: model.config, findings: [], notes: [] };
  const config = completeInstanceGroups(normalise(completed.config), options.gpus);
  const labels = await readLabels(config, folder.directory);
  const isCompleted = completed.findings.length === 0;
  const findings = [
    ...model.findings,
    ...check(config, {
      directoryName: folder.name,
      written: written.config,
      gpus: options.gpus,
      backends: [...options.backends.keys()],
    }),
    ...completed.findings,
    ...(signature !== undefined && isCompleted ? checkSignature(config, signature) : []),
    ...labels.findings,
  ];
  const located = locate(model, findings);
  const faults = located.filter(({ severity }) => severity === 'fault');
  if (faults.length > 0) throw new ConfigFaults([...faults, ...locate(model, error === undefined ? [] : [fault('', error.message)])]);
  if (error !== undefined) throw error;
  if (isUnknown(model, config, backend)) {
    throw new InferError('NOT_FOUND', `model configuration is not provided for model '${folder.name}'`);
  }
  if (backend === undefined) throw new InferError('INTERNAL', `model '${folder.name}' has no backend`);
  const spec = compile(config, { version, signature, labels: labels.ofOutputs, defaultMaxQueueSize: options.defaultMaxQueueSize });
  return { spec, files, backend, warnings: [...completed.notes, ...located.map(describeFinding)] };
};
