import type { Observable, Subscription } from 'rxjs';
import type { RunningModel } from '../operators/run-model.ts';
import { type InferError, toInferError } from '../streams/inference/error.ts';
import type { AssembleConfig } from './assemble.ts';
import { assemble } from './assemble.ts';
import { cancelledError } from './cancelled-error.ts';
import { contentFingerprint } from './content-fingerprint.ts';
import { type AssembleEnsembleConfig, assembleEnsemble, ensembleFingerprint } from './ensembles/assemble-ensemble.ts';
import { isEnsemble, type PreparedEnsemble, type PrepareEnsembleConfig, prepareEnsemble } from './ensembles/prepare-ensemble.ts';
import type { PrepareConfig, PreparedVersion } from './prepare-version.ts';
import { prepareVersion } from './prepare-version.ts';
import type { ReadModel } from './read-model.ts';
import type { Registry } from './registry.ts';
import { statusText } from './status-text.ts';

export interface LoadModelConfig extends AssembleConfig, PrepareConfig, AssembleEnsembleConfig, PrepareEnsembleConfig {
  readonly registry: Registry;
  /** Ends every version when it ends. */
  readonly lifetime: Subscription;
}

type PreparedModel = PreparedVersion | PreparedEnsemble;

interface Prepared {
  readonly version: PreparedModel;
  readonly tookMs: number;
}

interface Started {
  readonly running: RunningModel;
  readonly tookMs: number;
  end(): void;
}

const prepare = (model: ReadModel, version: string, config: LoadModelConfig): Promise<PreparedModel> =>
  isEnsemble(model.config) ? prepareEnsemble(model, version, config) : prepareVersion(model, version, config);

const assembleModel = (prepared: PreparedModel, config: LoadModelConfig): Observable<RunningModel> =>
  'graph' in prepared ? assembleEnsemble(prepared, config) : assemble(prepared, config);

const fingerprintOf = (prepared: PreparedModel): Promise<string> =>
  'graph' in prepared ? ensembleFingerprint(prepared) : contentFingerprint(prepared.spec, prepared.files);

/** Starts a version; resolves when its instances are ready. `onFailure` hears of an end after that. */
const start = (prepared: PreparedModel, config: LoadModelConfig, onFailure: (error: InferError) => void): Promise<Started> =>
  new Promise((resolve, reject) => {
    if (config.lifetime.closed) throw cancelledError();
    const { scheduler } = config;
    const beganMs = scheduler.now();
    let isUp = false;
    const subscription = assembleModel(prepared, config).subscribe({
      next: (running) => {
        isUp = true;
        resolve({ running, tookMs: scheduler.now() - beganMs, end: () => subscription.unsubscribe() });
      },
      error: (error: unknown) => (isUp ? onFailure(toInferError(error)) : reject(toInferError(error))),
    });
    // Settles nothing once the version is up.
    subscription.add(() => reject(cancelledError()));
    config.lifetime.add(subscription);
  });

/** A load that was cancelled is no fault of the model: the log has nothing to say about it. */
const failVersion = (model: string, version: string, error: unknown, { registry, lifetime, log }: LoadModelConfig): void => {
  const reason = statusText(lifetime.closed ? cancelledError() : toInferError(error));
  registry.setState(model, version, 'UNAVAILABLE', reason);
  if (!lifetime.closed) log.error(`failed to load '${model}' version ${version}: ${reason}`);
};

/** A version that was served and is no more. */
const endVersion = (model: string, version: string, error: InferError, { registry, log }: LoadModelConfig): void => {
  const reason = statusText(error);
  registry.setState(model, version, 'UNAVAILABLE', reason);
  log.error(`model '${model}' version ${version} has ended: ${reason}`);
};

const prepareAll = async (model: ReadModel, config: LoadModelConfig): Promise<readonly Prepared[]> => {
  const prepared: Prepared[] = [];
  for (const version of model.versions) {
    const beganMs = config.scheduler.now();
    try {
      if (config.lifetime.closed) throw cancelledError();
      prepared.push({ version: await prepare(model, version, config), tookMs: config.scheduler.now() - beganMs });
    } catch (error) {
      failVersion(model.folder.name, version, error, config);
    }
  }
  for (const warning of new Set(prepared.flatMap(({ version }) => version.warnings))) config.log.warning(warning);
  return prepared;
};

/** Starts versions one after another up to the first that fails. */
const startAll = async (name: string, prepared: readonly Prepared[], config: LoadModelConfig): Promise<readonly Started[]> => {
  const started: Started[] = [];
  for (const { version } of prepared) {
    try {
      started.push(await start(version, config, (error) => endVersion(name, version.spec.version, error, config)));
    } catch (error) {
      failVersion(name, version.spec.version, error, config);
      break;
    }
  }
  return started;
};

const dropOthers = (name: string, versions: readonly string[], { registry, lifetime }: LoadModelConfig): void => {
  const failed = `not loaded, since another version of model '${name}' failed to load`;
  const reason = lifetime.closed ? statusText(cancelledError()) : failed;
  for (const version of versions) {
    if (registry.stateOf(name, version) === 'LOADING') registry.setState(name, version, 'UNAVAILABLE', reason);
  }
};

/** No version of it can be served. */
export const failModel = ({ folder, versions }: ReadModel, error: InferError, config: LoadModelConfig): void => {
  for (const version of versions) failVersion(folder.name, version, error, config);
};

/**
 * Loads the versions of a model that its policy chooses, as one unit: when one of them fails none is served. Never rejects: what went wrong
 * is in the registry and in the log.
 */
export const loadModel = async (model: ReadModel, config: LoadModelConfig): Promise<void> => {
  const { name } = model.folder;
  const { registry, log } = config;
  for (const version of model.versions) {
    registry.setState(name, version, 'LOADING');
    log.info(`loading: ${name}:${version}`);
  }
  const prepared = await prepareAll(model, config);
  const isPrepared = prepared.length === model.versions.length;
  const started = isPrepared ? await startAll(name, prepared, config) : [];
  if (started.length < model.versions.length) {
    for (const { end } of started) end();
    dropOthers(name, model.versions, config);
    return;
  }
  prepared.forEach(({ version, tookMs }, index) => {
    const up = started[index];
    if (up === undefined) return;
    const { running } = up;
    const { spec } = version;
    registry.setReady(name, spec.version, {
      running,
      served: { spec, infer: running.infer },
      loadSeconds: (tookMs + up.tookMs) / 1000,
      fingerprint: () => fingerprintOf(version),
    });
  });
  log.info(`successfully loaded '${name}'`);
};
