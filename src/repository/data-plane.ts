import { throwError } from 'rxjs';
import type { DataPlane, ModelMetadata, TensorMetadata } from '../streams/inference/data-plane.ts';
import { InferError, toInferError } from '../streams/inference/error.ts';
import type { ModelSpec, TensorSpec } from '../streams/inference/model-spec.ts';
import type { ModelStatistics } from '../streams/inference/statistics.ts';
import { lookupError } from './lookup-error.ts';
import { canonicalVersion } from './model-version.ts';
import type { ReadyVersion, Registry } from './registry.ts';

export type ServerState = 'starting' | 'ready' | 'failed' | 'exiting';

export interface DataPlaneConfig {
  readonly registry: Registry;
  readonly state: () => ServerState;
  readonly serverId: string;
  readonly serverVersion: string;
  /** Whether the server is ready only while every model is. */
  readonly strictReadiness: boolean;
  readonly statisticsOf: (name: string, version: string) => ModelStatistics;
}

/** Triton's names of what is served here. */
const extensions = ['classification', 'model_repository', 'model_configuration', 'binary_tensor_data', 'parameters', 'statistics'];

const serverNotReady = (): InferError => new InferError('UNAVAILABLE', 'Server not ready');

const tensorMetadata = ({ name, datatype, dims }: TensorSpec, isBatched: boolean): TensorMetadata => ({
  name,
  datatype,
  shape: isBatched ? [-1, ...dims] : dims,
});

const metadataOf = (spec: ModelSpec, versions: readonly string[]): ModelMetadata => {
  const isBatched = spec.maxBatchSize > 0;
  return {
    name: spec.name,
    versions,
    platform: spec.platform === '' ? spec.backend : spec.platform,
    inputs: spec.inputs.map((input) => tensorMetadata(input, isBatched)),
    outputs: spec.outputs.map((output) => tensorMetadata(output, isBatched)),
  };
};

/** What front ends see of the repository. */
export const createDataPlane = (config: DataPlaneConfig): DataPlane => {
  const { registry, state, statisticsOf } = config;

  /** @throws InferError */
  const find = (name: string, version: string): ReadyVersion => {
    const known = registry.ready(name, version);
    if (known !== undefined) return known;
    const canonical = canonicalVersion(version);
    const found = registry.ready(name, canonical);
    if (found === undefined) throw lookupError(registry, name, canonical);
    return found;
  };

  const checkServing = (): void => {
    if (state() !== 'ready') throw serverNotReady();
  };

  const statistics = (name: string, version: string): readonly ModelStatistics[] => {
    checkServing();
    const canonical = canonicalVersion(version);
    const ready = name === '' ? registry.allReady() : registry.readyVersions(name);
    if (name !== '' && ready.length === 0) throw new InferError('INVALID_ARGUMENT', `requested model '${name}' is not available`);
    const asked = ready.filter(({ served: { spec } }) => canonical === '' || spec.version === canonical);
    if (canonical !== '' && asked.length === 0) {
      throw new InferError('INVALID_ARGUMENT', `requested model version is not available for model '${name}'`);
    }
    return asked.map(({ served: { spec } }) => statisticsOf(spec.name, spec.version));
  };

  return {
    isLive: () => state() === 'ready' || state() === 'exiting',
    isReady: () => state() === 'ready' && (!config.strictReadiness || registry.isWhole()),
    isExiting: () => state() === 'exiting',
    isModelReady(name, version) {
      if (state() !== 'ready') return false;
      try {
        return find(name, version).running.isReady();
      } catch {
        return false;
      }
    },
    serverMetadata: () => ({ name: config.serverId, version: config.serverVersion, extensions }),
    model(name, version) {
      if (state() === 'starting' || state() === 'failed') throw serverNotReady();
      return find(name, version).served;
    },
    modelMetadata(name, version) {
      checkServing();
      const { spec } = find(name, version).served;
      const versions = version === '' ? registry.readyVersions(name).map(({ served }) => served.spec.version) : [spec.version];
      return metadataOf(spec, versions);
    },
    statistics: async (name, version) => statistics(name, version),
    index: async (readyOnly) => {
      checkServing();
      const entries = registry.index();
      // A model of two repositories has no version, and is listed even so: as in Triton.
      return readyOnly ? entries.filter((entry) => entry.state === 'READY' || isDuplicate(entry.reason)) : entries;
    },
    graphs: () => registry.allReady().map(({ running }) => running.graph()),
    graph(name, version) {
      checkServing();
      return find(name, version).running.graph();
    },
    infer(request) {
      // A shutdown closes the models themselves, once what they have begun has ended.
      if (state() === 'starting' || state() === 'failed') return throwError(serverNotReady);
      const known = registry.ready(request.modelName, request.modelVersion);
      if (known !== undefined) return known.served.infer(request);
      try {
        return find(request.modelName, request.modelVersion).served.infer(request);
      } catch (error) {
        return throwError(() => toInferError(error));
      }
    },
  };
};

/** Reason in the index. */
export const duplicateReason = 'model appears in two or more repositories';

const isDuplicate = (reason: string | undefined): boolean => reason === duplicateReason;
