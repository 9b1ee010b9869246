import type { Datatype } from '../tensors/datatype.ts';
import type { Shape } from '../tensors/shape.ts';

export interface TensorSpec {
  readonly name: string;
  readonly datatype: Datatype;
  /** As the client sends it, without the batch dimension; −1 for any size. */
  readonly dims: Shape;
  /** As the model sees it, without the batch dimension, where it differs from `dims`. */
  readonly reshape: Shape | undefined;
}

export interface InputSpec extends TensorSpec {
  readonly optional: boolean;
}

export interface OutputSpec extends TensorSpec {
  /** From `label_filename`: the label of index i at i; empty without one. */
  readonly labels: readonly string[];
}

export interface DynamicBatching {
  /** Ascending rows; never empty where the model batches (`[max_batch_size]` unless configured). */
  readonly preferredBatchSizes: readonly number[];
  /** Fractional milliseconds: the config's microseconds, turned once. */
  readonly maxQueueDelayMs: number;
}

export type InstanceKind = 'CPU' | 'GPU' | 'MODEL';

export interface InstanceGroup {
  readonly name: string;
  readonly kind: InstanceKind;
  readonly count: number;
  readonly gpus: readonly number[];
}

/**
 * The model configuration as clients read it: a `ModelConfig` message of `model_config.proto` as a plain object, with snake_case names in
 * declaration order, enums by name, every scalar present, absent messages left out; 64-bit integers are numbers, or bigint past 2^53.
 */
export type ModelConfigDocument = Readonly<Record<string, unknown>>;

/** One version of a model: everything that running it needs, complete and checked when the model is loaded. */
export interface ModelSpec {
  readonly name: string;
  readonly version: string;
  readonly platform: string;
  readonly backend: string;
  /** 0 when the model has no batch dimension. */
  readonly maxBatchSize: number;
  readonly inputs: readonly InputSpec[];
  readonly outputs: readonly OutputSpec[];
  /** Undefined for the default scheduler: one request at a time. */
  readonly dynamicBatching: DynamicBatching | undefined;
  /** Requests that may wait at once; the next one gets UNAVAILABLE. */
  readonly maxQueueSize: number;
  readonly instanceGroups: readonly InstanceGroup[];
  readonly decoupled: boolean;
  /** `parameters` of the config: key to `string_value`. */
  readonly parameters: ReadonlyMap<string, string>;
  /** `optimization.graph.level`. */
  readonly graphLevel: number;
  readonly config: ModelConfigDocument;
}
