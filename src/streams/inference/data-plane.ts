import type { Infer } from './infer.ts';
import type { ModelGraph } from './model-graph.ts';
import type { ModelSpec } from './model-spec.ts';
import type { ModelStatistics } from './statistics.ts';

export type ModelState = 'UNKNOWN' | 'READY' | 'UNAVAILABLE' | 'LOADING' | 'UNLOADING';

/** One line of the repository index; `version` and `state` are absent for a model that was never loaded. */
export interface ModelIndexEntry {
  readonly name: string;
  readonly version?: string;
  readonly state?: ModelState;
  readonly reason?: string;
}

export interface ServerMetadata {
  readonly name: string;
  readonly version: string;
  readonly extensions: readonly string[];
}

export interface TensorMetadata {
  readonly name: string;
  readonly datatype: string;
  /** With a leading −1 where the model batches. */
  readonly shape: readonly number[];
}

export interface ModelMetadata {
  readonly name: string;
  readonly versions: readonly string[];
  readonly platform: string;
  readonly inputs: readonly TensorMetadata[];
  readonly outputs: readonly TensorMetadata[];
}

/** A version that is ready to answer. */
export interface ServedModel {
  readonly spec: ModelSpec;
  readonly infer: Infer;
}

/**
 * The one way from a front end to the models. Versions are decimal digits, `''` for the newest that is ready. Lookups fail with an
 * InferError whose message is Triton's (NOT_FOUND, UNAVAILABLE); a version that is no number is INVALID_ARGUMENT.
 */
export interface DataPlane {
  /** False while the server starts or once it has failed to. */
  isLive(): boolean;
  isReady(): boolean;
  /** True once shutdown has begun: health then answers `Server exiting`, other calls `Server not ready`. */
  isExiting(): boolean;
  /** Never throws: an unknown model is not ready. */
  isModelReady(name: string, version: string): boolean;
  serverMetadata(): ServerMetadata;
  /** @throws InferError */
  model(name: string, version: string): ServedModel;
  /** @throws InferError */
  modelMetadata(name: string, version: string): ModelMetadata;
  /** `name` `''` for every model. Rejects with INVALID_ARGUMENT for one that is not available. */
  statistics(name: string, version: string): Promise<readonly ModelStatistics[]>;
  index(readyOnly: boolean): Promise<readonly ModelIndexEntry[]>;
  /** Stages and gauges of every ready version. */
  graphs(): readonly ModelGraph[];
  /** @throws InferError */
  graph(name: string, version: string): ModelGraph;
  /** Answers from the model that the request names. Lookup failures are errors of the Observable. */
  readonly infer: Infer;
}
