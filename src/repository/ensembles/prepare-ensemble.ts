import { join } from 'node:path';
import type { EnsembleGraph } from '../../operators/ensembles/ensemble-graph.ts';
import type { ModelFiles } from '../../streams/inference/backend.ts';
import type { EnsembleStep, ModelSpec } from '../../streams/inference/model-spec.ts';
import { checkEnsembleConfig } from '../config/check.ts';
import { compile } from '../config/compile.ts';
import type { Finding } from '../config/findings.ts';
import { ConfigFaults, describeFinding, warning } from '../config/findings.ts';
import { readLabels } from '../config/labels.ts';
import type { ModelConfig } from '../config/model-config.ts';
import { normalise } from '../config/normalise.ts';
import { locate } from '../locate.ts';
import type { ReadModel } from '../read-model.ts';
import type { ReadyVersion } from '../registry.ts';
import { checkDependencies, type LoadedModel } from './check-dependencies.ts';
import { checkSteps } from './check-steps.ts';
import { compileGraph } from './compile-graph.ts';
import { decoupledWithin } from './decoupled-within.ts';
import { findBranches } from './find-branches.ts';

/** The models that have been loaded before. */
export interface LoadedModels {
  /** Undefined for one of which not even the versions are known. */
  find(name: string): LoadedModel | undefined;
  /** `''` for the newest version. */
  ready(name: string, version: string): ReadyVersion | undefined;
}

export interface PrepareEnsembleConfig {
  readonly loaded: LoadedModels;
  /** Of the ensemble; it bounds what waits for permits of a step. */
  readonly defaultMaxQueueSize: number;
}

/** A version of an ensemble that can be run. */
export interface PreparedEnsemble {
  readonly spec: ModelSpec;
  readonly files: ModelFiles;
  readonly graph: EnsembleGraph;
  /** Of the steps, as they were checked. */
  readonly models: readonly ReadyVersion[];
  readonly warnings: readonly string[];
}

export const isEnsemble = ({ platform, backend, ensemble_scheduling }: ModelConfig): boolean =>
  platform === 'ensemble' && backend === '' && ensemble_scheduling !== undefined;

const throwFaults = (model: ReadModel, findings: readonly Finding[]): void => {
  const faults = findings.filter(({ severity }) => severity === 'fault');
  if (faults.length > 0) throw new ConfigFaults(locate(model, faults));
};

const withDecoupled = (config: ModelConfig, decoupled: boolean): ModelConfig => ({ ...config, model_transaction_policy: { decoupled } });

/** Labels of an output that has none are those of the model that makes it. */
const withLabels = (spec: ModelSpec, steps: readonly EnsembleStep[], models: readonly ModelSpec[]): ModelSpec => {
  const madeBy = (tensor: string): readonly string[] => {
    for (const [index, { outputs }] of steps.entries()) {
      const [name] = [...outputs].find(([, made]) => made === tensor) ?? [];
      if (name !== undefined) return models[index]?.outputs.find((output) => output.name === name)?.labels ?? [];
    }
    return [];
  };
  return {
    ...spec,
    outputs: spec.outputs.map((output) => (output.labels.length > 0 ? output : { ...output, labels: madeBy(output.name) })),
  };
};

/**
 * Checks and compiles the config of one version of an ensemble, against the models of its steps, which have been loaded.
 *
 * Rejects with ConfigFaults that tell what is wrong: with the config alone, else with the models, else with how they fit.
 */
export const prepareEnsemble = async (model: ReadModel, version: string, options: PrepareEnsembleConfig): Promise<PreparedEnsemble> => {
  const { folder, written } = model;
  const config = normalise(model.config);
  const labels = await readLabels(config, folder.directory);
  const own = [
    ...model.findings,
    ...checkEnsembleConfig(config, {
      directoryName: folder.name,
      written: written.config,
      repeatedKeys: written.positions?.repeatedKeys ?? [],
    }),
    ...labels.findings,
  ];
  throwFaults(model, own);

  const compileWith = (decoupled: boolean): ModelSpec =>
    compile(withDecoupled(config, decoupled), {
      version,
      signature: undefined,
      labels: labels.ofOutputs,
      initials: [],
      defaultMaxQueueSize: options.defaultMaxQueueSize,
    });
  const ensemble = compileWith(false);
  const steps = ensemble.ensemble?.steps ?? [];
  throwFaults(
    model,
    checkDependencies(config.name, steps, (name) => options.loaded.find(name)),
  );
  const models = steps.flatMap(({ modelName, modelVersion }) => options.loaded.ready(modelName, modelVersion) ?? []);
  const specs = models.map(({ served }) => served.spec);
  const branches = findBranches({
    inputs: ensemble.inputs.map(({ name }) => name),
    outputs: ensemble.outputs.map(({ name }) => name),
    steps,
    isDecoupled: specs.map(({ decoupled }) => decoupled),
  });
  const isDecoupled = branches.count > 1;
  const fitting = [
    ...checkSteps({ ensemble, steps, models: specs, branches }),
    ...(!isDecoupled && written.config.model_transaction_policy?.decoupled
      ? [warning('model_transaction_policy.decoupled', `no step of ensemble ${config.name} is decoupled: neither is the ensemble`)]
      : []),
  ];
  throwFaults(model, fitting);
  const find = (name: string, version: string): ModelSpec | undefined => options.loaded.ready(name, version)?.served.spec;
  const spec = withLabels(compileWith(isDecoupled), steps, specs);
  return {
    spec,
    files: {
      modelName: folder.name,
      modelDirectory: folder.directory,
      versionDirectory: join(folder.directory, version),
      modelFile: '',
    },
    graph: compileGraph({
      ensemble: spec,
      steps,
      models: specs,
      branches,
      decoupledWithin: specs.map((each) => decoupledWithin(each, find)),
    }),
    models,
    warnings: locate(model, [...own, ...fitting]).map(describeFinding),
  };
};
