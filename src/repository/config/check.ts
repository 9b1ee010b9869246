import { isAbsolute, normalize } from 'node:path';
import { checkBatchTensors } from './check-batch-tensors.ts';
import { checkBatching } from './check-batching.ts';
import { checkCache } from './check-cache.ts';
import { checkEnsemble } from './check-ensemble.ts';
import { checkFields } from './check-fields.ts';
import { checkIdentity } from './check-identity.ts';
import { checkResources, type RateLimitMode } from './check-resources.ts';
import { checkSequences } from './check-sequences.ts';
import { checkTensors } from './check-tensors.ts';
import { checkWeirParameters } from './check-weir-parameters.ts';
import type { Finding } from './findings.ts';
import { fault } from './findings.ts';
import { checkInstanceGroups } from './instance-groups.ts';
import type { ModelConfig } from './model-config.ts';

export interface CheckConfig {
  readonly directoryName: string;
  /** The config before completion. */
  readonly written: ModelConfig;
  readonly gpus: readonly number[];
  /** Names of the backends that this server has. */
  readonly backends: readonly string[];
  /** Of the model's backend, where this server has it. */
  readonly gathers: boolean | undefined;
  readonly ignoresWholeInputs: boolean | undefined;
  readonly answersMany: boolean | undefined;
  readonly rateLimit: RateLimitMode;
}

const checkBackend = ({ backend }: ModelConfig, backends: readonly string[]): readonly Finding[] => {
  if (backend === '' || backends.includes(backend)) return [];
  const text = `unable to find backend library for backend '${backend}', try specifying runtime on the model configuration.`;
  return [fault('backend', text, { wanted: `one of ${backends.join(', ')}`, got: `'${backend}'` })];
};

const checkFilename = ({ name, default_model_filename: file }: ModelConfig): readonly Finding[] => {
  const way = normalize(file);
  if (file === '' || (!isAbsolute(way) && way !== '.' && way !== '..' && !way.startsWith('../'))) return [];
  return [fault('default_model_filename', `model file '${file}' is outside the version directory for ${name}`)];
};

const checkDecoupled = ({ name, backend, model_transaction_policy }: ModelConfig, answersMany: boolean | undefined): readonly Finding[] => {
  if (model_transaction_policy?.decoupled !== true || answersMany !== false) return [];
  const text = `backend '${backend}' answers each request once: 'decoupled' cannot be set for ${name}`;
  return [fault('model_transaction_policy.decoupled', text, { wanted: 'false', got: 'true' })];
};

/** Everything wrong with a complete config that shows without the model's own file. */
export const check = (
  config: ModelConfig,
  { directoryName, written, gpus, backends, gathers, ignoresWholeInputs, answersMany, rateLimit }: CheckConfig,
): readonly Finding[] => [
  ...checkIdentity(config, directoryName),
  ...checkBackend(config, backends),
  ...checkDecoupled(config, answersMany),
  ...checkFields(config),
  ...checkBatching(config),
  ...checkSequences(config),
  ...checkTensors(config),
  ...checkBatchTensors(config, { gathers, ignoresWholeInputs }),
  ...checkInstanceGroups(config, written, gpus),
  ...checkResources(config, rateLimit),
  ...checkCache(config),
  ...checkWeirParameters(config, { gathers }),
  ...checkFilename(config),
];

export interface CheckEnsembleConfig extends Pick<CheckConfig, 'directoryName' | 'written'> {
  /** Of maps in the config's text. */
  readonly repeatedKeys: readonly string[];
}

/** Everything wrong with the config of an ensemble that shows without its models. */
export const checkEnsembleConfig = (
  config: ModelConfig,
  { directoryName, written, repeatedKeys }: CheckEnsembleConfig,
): readonly Finding[] => [
  ...checkIdentity(config, directoryName),
  ...checkFields(config),
  ...checkBatching(config),
  ...checkTensors(config),
  ...checkEnsemble(config, written, repeatedKeys),
  ...checkCache(config),
  ...checkWeirParameters(config, { gathers: undefined }),
];
