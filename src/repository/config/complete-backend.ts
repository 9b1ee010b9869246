import type { Finding } from './findings.ts';
import { fault } from './findings.ts';
import type { KnownBackend } from './known-backends.ts';
import { knownBackends } from './known-backends.ts';
import type { ModelConfig } from './model-config.ts';

export interface BackendCompletion {
  readonly config: ModelConfig;
  readonly findings: readonly Finding[];
}

const fill = (config: ModelConfig, known: KnownBackend, platform: string): ModelConfig => ({
  ...config,
  backend: known.backend,
  platform,
  default_model_filename: config.default_model_filename === '' ? known.modelFilename : config.default_model_filename,
});

/** Whether the config, or where it says nothing the file found, speaks for this backend. */
const isMeant = (config: ModelConfig, known: KnownBackend, present: ReadonlySet<string>): boolean => {
  if (config.platform !== '') return known.platforms.includes(config.platform);
  if (config.default_model_filename !== '') return config.default_model_filename === known.modelFilename;
  return present.has(known.modelFilename);
};

const ofNamedBackend = (config: ModelConfig, present: ReadonlySet<string>): ModelConfig => {
  const all = knownBackends.filter(({ backend }) => backend === config.backend);
  const known =
    all.find(({ platforms }) => platforms.includes(config.platform)) ??
    all.find(({ modelFilename }) => modelFilename === config.default_model_filename) ??
    all.find(({ modelFilename }) => present.has(modelFilename)) ??
    all.at(0);
  if (known === undefined) return config;
  return fill(config, known, config.platform === '' ? (known.platforms[0] ?? '') : config.platform);
};

/** `m.python` runs on backend `python`, from the file `model.python`. */
const fromModelName = (config: ModelConfig): BackendCompletion => {
  const dot = config.name.indexOf('.');
  if (dot >= 0) {
    const backend = config.name.slice(dot + 1);
    return { config: { ...config, backend, default_model_filename: `model.${backend}` }, findings: [] };
  }
  const text = `Invalid model name: Could not determine backend for model '${config.name}' with no backend in model configuration. Expected model name of the form 'model.<backend_name>'.`;
  return { config, findings: [fault('backend', text)] };
};

/**
 * Fills `name`, `backend`, `platform` and `default_model_filename` from each other, from the files in the model's first version folder and,
 * where nothing else speaks, from the model's name.
 */
export const completeBackend = (given: ModelConfig, directoryName: string, present: ReadonlySet<string>): BackendCompletion => {
  const config = given.name === '' ? { ...given, name: directoryName } : given;
  if (config.backend !== '') return { config: ofNamedBackend(config, present), findings: [] };
  if (config.platform === 'ensemble' || config.ensemble_scheduling !== undefined) return { config, findings: [] };
  const known = knownBackends.find((candidate) => isMeant(config, candidate, present));
  if (known !== undefined) {
    const platform = config.platform === '' ? (known.platforms[0] ?? '') : config.platform;
    return { config: fill(config, known, platform), findings: [] };
  }
  if (config.platform === '' && config.default_model_filename === '') return fromModelName(config);
  return { config, findings: [] };
};
