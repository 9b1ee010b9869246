import type { ModelSpec } from '../../streams/inference/model-spec.ts';

/** Names of the models that answer many times and have a part in this one: itself, and of an ensemble those of its steps. `find` takes a name and a version. */
export const decoupledWithin = (spec: ModelSpec, find: (name: string, version: string) => ModelSpec | undefined): ReadonlySet<string> => {
  const names = new Set<string>();
  const add = ({ name, decoupled, ensemble }: ModelSpec): void => {
    // An ensemble is decoupled exactly if one of its steps is.
    if (!decoupled || names.has(name)) return;
    names.add(name);
    for (const { modelName, modelVersion } of ensemble?.steps ?? []) {
      const inner = find(modelName, modelVersion);
      if (inner !== undefined) add(inner);
    }
  };
  add(spec);
  return names;
};
