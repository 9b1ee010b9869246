import type { Finding } from './findings.ts';
import { fault, warning } from './findings.ts';
import { knownBackends } from './known-backends.ts';
import type { ModelConfig } from './model-config.ts';

const checkBackendName = (config: ModelConfig): Finding[] => {
  const { name, platform, backend, default_model_filename } = config;
  // Where all three are empty, completion has said so.
  if (backend !== '' || (platform === '' && default_model_filename === '')) return [];
  if (platform === '') return [fault('default_model_filename', `must specify 'platform' or 'backend' for '${name}'`)];
  return [fault('platform', `unexpected platform type '${platform}' for ${name}`)];
};

const checkPair = ({ platform, backend }: ModelConfig): Finding[] => {
  const platforms = knownBackends.filter((known) => known.backend === backend).flatMap((known) => known.platforms);
  if (platform === '' || platforms.length === 0 || platforms.includes(platform)) return [];
  const text = `unexpected 'platform' and 'backend' pair, got:${platform}, ${backend}; the backend counts`;
  return [warning('platform', text, { wanted: platforms.join(' or '), got: platform })];
};

const checkEnsemble = (config: ModelConfig): Finding[] => {
  const { name, platform, backend, ensemble_scheduling } = config;
  if (platform !== 'ensemble' && ensemble_scheduling !== undefined) {
    return [fault('ensemble_scheduling', `ensemble scheduling cannot be set for model '${name}' whose platform is not ensemble`)];
  }
  if (platform !== 'ensemble') return [];
  if (backend !== '') return [fault('backend', `Ensemble model '${name}' must have platform type 'ensemble' and empty backend type`)];
  if (ensemble_scheduling === undefined) {
    return [fault('platform', `ensemble scheduling must be set for ensemble ${name} whose platform is ensemble`)];
  }
  return [];
};

/** Faults of `name`, `platform` and `backend`. */
export const checkIdentity = (config: ModelConfig, directoryName: string): readonly Finding[] => {
  const findings: Finding[] = [];
  if (config.name !== directoryName) {
    const text = `unexpected directory name '${directoryName}' for model '${config.name}', directory name must equal model name`;
    findings.push(fault('name', text, { wanted: `'${directoryName}'`, got: `'${config.name}'` }));
  }
  if (config.platform === 'ensemble' || config.ensemble_scheduling !== undefined) return [...findings, ...checkEnsemble(config)];
  return [...findings, ...checkBackendName(config), ...checkPair(config)];
};
