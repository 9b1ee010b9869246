import type { EnsembleStep } from '../../streams/inference/model-spec.ts';
import type { Finding } from '../config/findings.ts';
import { fault } from '../config/findings.ts';

/** What became of a model that was to be loaded. */
export interface LoadedModel {
  readonly isEnsemble: boolean;
  /** Those that are ready. */
  readonly versions: readonly string[];
  /** Why no version is ready; `''` where nobody said. */
  readonly failure: string;
}

/** Faults of an ensemble whose models are not there. `find` knows the models of which versions were found; undefined for any other. */
export const checkDependencies = (
  ensemble: string,
  steps: readonly EnsembleStep[],
  find: (name: string) => LoadedModel | undefined,
): readonly Finding[] => {
  const missing = [...new Set(steps.map(({ modelName }) => modelName))].filter((name) => find(name) === undefined).toSorted();
  if (missing.length > 0) {
    const index = steps.findIndex(({ modelName }) => find(modelName) === undefined);
    const text = `ensemble ${ensemble} contains models that are not available or ambiguous: ${missing.join(', ')}`;
    return [fault(`ensemble_scheduling.step[${index}].model_name`, text)];
  }
  const told = new Set<string>();
  return steps.flatMap(({ modelName, modelVersion }, index) => {
    const model = find(modelName);
    const field = `ensemble_scheduling.step[${index}]`;
    if (model === undefined) return [];
    const beginning = `ensemble '${ensemble}' depends on '${modelName}'`;
    if (model.versions.length === 0) {
      if (told.has(modelName)) return [];
      told.add(modelName);
      const which = model.isEnsemble ? 'which is not valid.' : 'which has no loaded version.';
      const how = model.isEnsemble ? 'failed' : 'loading failed';
      const why = model.failure === '' ? '' : ` Model '${modelName}' ${how} with error: ${model.failure}`;
      return [fault(`${field}.model_name`, `${beginning} ${which}${why}`)];
    }
    if (modelVersion === '' || model.versions.includes(modelVersion)) return [];
    const text = `${beginning} whose required version ${modelVersion} is not loaded.`;
    return [fault(`${field}.model_version`, text, { wanted: `-1, or one of ${model.versions.join(', ')}`, got: modelVersion })];
  });
};
