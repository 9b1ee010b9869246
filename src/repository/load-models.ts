import { WaitOrder } from '../operators/ensembles/wait-order.ts';
import type { InferError } from '../streams/inference/error.ts';
import { ConfigFaults, fault } from './config/findings.ts';
import { loadOrder } from './ensembles/load-order.ts';
import { isEnsemble } from './ensembles/prepare-ensemble.ts';
import { loadedModels, stepModels } from './ensembles/registry-models.ts';
import { loadAll } from './load-all.ts';
import { failModel, type LoadModelConfig, loadModel } from './load-model.ts';
import { locate } from './locate.ts';
import { readFolder } from './read-folder.ts';
import type { ReadModel } from './read-model.ts';
import type { ModelFolder } from './scan.ts';

export interface LoadModelsConfig extends Omit<LoadModelConfig, 'loaded' | 'stepModels' | 'waitOrder'> {
  readonly autoComplete: boolean;
  /** Models loaded at a time. */
  readonly loadLimit: number;
}

const circularFault = (model: ReadModel, text: string): InferError => new ConfigFaults(locate(model, [fault('ensemble_scheduling', text)]));

/**
 * Loads models: first those that run by themselves, then ensembles, each behind those that it uses. Never rejects: what went wrong is in the registry and in
 * the log.
 */
export const loadModels = async (folders: readonly ModelFolder[], options: LoadModelsConfig): Promise<void> => {
  const { registry, loadLimit } = options;
  const ensembles = new Map<string, ReadModel>();
  const names = new Set<string>();
  const config: LoadModelConfig = {
    ...options,
    loaded: loadedModels(registry, names),
    stepModels: stepModels(registry),
    waitOrder: new WaitOrder(),
  };

  await loadAll(folders, loadLimit, async (folder) => {
    const model = await readFolder(folder, config);
    if (model === undefined) return;
    if (isEnsemble(model.config)) ensembles.set(folder.name, model);
    else await loadModel(model, config);
  });
  for (const name of ensembles.keys()) names.add(name);

  const links = [...ensembles].map(
    ([
      name,
      {
        config: { ensemble_scheduling: scheduling },
      },
    ]) => ({
      name,
      uses: (scheduling?.step ?? []).map(({ model_name }) => model_name),
    }),
  );
  const { waves, circular } = loadOrder(links);
  const modelOf = (name: string): readonly ReadModel[] => {
    const model = ensembles.get(name);
    return model === undefined ? [] : [model];
  };
  for (const [name, text] of circular) {
    for (const model of modelOf(name)) failModel(model, circularFault(model, text), config);
  }
  for (const wave of waves) {
    await loadAll(wave.flatMap(modelOf), loadLimit, (model) => loadModel(model, config));
  }
};
