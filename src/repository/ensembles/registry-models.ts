import type { StepModels } from '../../operators/ensembles/ensemble.ts';
import { lookupError } from '../lookup-error.ts';
import type { Registry } from '../registry.ts';
import { withoutCode } from '../status-text.ts';
import type { LoadedModels } from './prepare-ensemble.ts';

/** The models of a registry, as ensembles ask for them when they answer. */
export const stepModels = (registry: Registry): StepModels => ({
  find(name, version) {
    const found = registry.ready(name, version);
    if (found === undefined) throw lookupError(registry, name, version);
    return found.running;
  },
});

/** The same, as ensembles ask for them when they load. `ensembles` are the names of those that there are. */
export const loadedModels = (registry: Registry, ensembles: ReadonlySet<string>): LoadedModels => ({
  ready: (name, version) => registry.ready(name, version),
  find(name) {
    const versions = registry.index().filter((entry) => entry.name === name && entry.version !== undefined);
    if (versions.length === 0) return undefined;
    const isEnsemble = ensembles.has(name);
    const [failed] = versions.filter(({ reason }) => reason !== undefined);
    const reason = failed?.reason ?? '';
    return {
      isEnsemble,
      versions: versions.flatMap(({ state, version }) => (state === 'READY' && version !== undefined ? [version] : [])),
      failure: isEnsemble || reason === '' ? withoutCode(reason) : `version ${failed?.version} is at UNAVAILABLE state: ${reason};`,
    };
  },
});
