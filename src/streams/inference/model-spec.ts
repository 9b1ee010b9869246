import type { Datatype } from '../tensors/datatype.ts';
import type { Shape } from '../tensors/shape.ts';
import type { Tensor } from '../tensors/tensor.ts';
import type { InferRequest } from './request.ts';

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
  /** Requests of different shapes batch: the model gets their elements end to end, as one dimension. */
  readonly allowRagged: boolean;
}

export interface OutputSpec extends TensorSpec {
  /** From `label_filename`: the label of index i at i; empty without one. */
  readonly labels: readonly string[];
}

export interface QueuePolicy {
  /** What happens to a request whose time is up: an error, or to wait behind all others of its level. */
  readonly timeoutAction: 'REJECT' | 'DELAY';
  /** Fractional milliseconds; 0 for none. */
  readonly defaultTimeoutMs: number;
  /** Whether a request may shorten the default; it never lengthens it, and none stays none. */
  readonly allowTimeoutOverride: boolean;
  /** Requests of one level that may wait at once, delayed ones included: the server's bound where the config has none. */
  readonly maxQueueSize: number;
}

export interface DynamicBatching {
  /** Ascending rows; never empty where the model batches (`[max_batch_size]` unless configured). */
  readonly preferredBatchSizes: readonly number[];
  /** Fractional milliseconds: the config's microseconds, turned once. */
  readonly maxQueueDelayMs: number;
  readonly preserveOrdering: boolean;
  /** 1 to this, 1 the most urgent; `0n` for a model without levels. */
  readonly priorityLevels: bigint;
  /** For requests whose priority is 0 or beyond the levels. */
  readonly defaultPriorityLevel: bigint;
  readonly defaultQueuePolicy: QueuePolicy;
  /** By level, where it differs. */
  readonly queuePolicies: ReadonlyMap<bigint, QueuePolicy>;
  /**
   * Whether the config has levels, time-outs or a queue size. Then an instance has no second batch lying ready, so that all that waits is in the
   * queue, where limits and time-outs see it.
   */
  readonly isStrict: boolean;
}

/** Weir's own options of batching, set by the `parameters` of a model. */
export interface BatchOptions {
  /** Requests batch only with an equal value of this parameter, or all without; undefined for no grouping. */
  readonly groupByParameter: string | undefined;
  /** Requests of unequal shapes share an execution: for backends that take requests one by one. */
  readonly unequalShapes: boolean;
  readonly padding: Padding | undefined;
}

/** Variable dimensions are filled up to the longest of the batch. */
export interface Padding {
  /** Inputs whose −1 dimensions are filled up. */
  readonly inputs: readonly string[];
  /** Written as each input's datatype: 0 unless configured. */
  readonly value: number;
  /** An input of the model that clients do not send: 1 where an element of the first padded input is the client's, else 0. */
  readonly mask: { readonly name: string; readonly datatype: Datatype } | undefined;
  /** Outputs whose −1 dimensions, in order, are cut back to those that the first padded input had. */
  readonly outputs: readonly string[];
}

export type SequenceStrategy = DirectStrategy | OldestStrategy;

/** A sequence holds one row of an instance's batches. */
export interface DirectStrategy {
  readonly kind: 'direct';
  readonly maxQueueDelayMs: number;
  /** 0 to 1: share of the rows that must be ready before the delay is over; 0 for no wait. */
  readonly minimumSlotUtilization: number;
}

/** A sequence holds one of an instance's candidacies, and its requests batch with those of others, oldest first. */
export interface OldestStrategy {
  readonly kind: 'oldest';
  /** For each instance; at least 1. */
  readonly maxCandidateSequences: number;
  readonly preferredBatchSizes: readonly number[];
  readonly maxQueueDelayMs: number;
  readonly preserveOrdering: boolean;
}

/** An input that the scheduler gives to the model: one element for each row. */
export type ControlInput =
  | {
      readonly kind: 'START' | 'END' | 'READY';
      readonly name: string;
      readonly datatype: 'INT32' | 'FP32' | 'BOOL';
      readonly whenFalse: number;
      readonly whenTrue: number;
    }
  | { readonly kind: 'CORRID'; readonly name: string; readonly datatype: 'UINT64' | 'INT64' | 'UINT32' | 'INT32' | 'BYTES' };

/** An output of one step that is an input of the next one of the same sequence. */
export interface StateSpec {
  readonly inputName: string;
  readonly outputName: string;
  readonly datatype: Datatype;
  /** Without the batch dimension; −1 for any size. */
  readonly dims: Shape;
  /** What a sequence begins with; its shape has the batch dimension, of 1, where the model batches. */
  readonly initial: Tensor;
}

export interface SequenceBatching {
  readonly strategy: SequenceStrategy;
  /** Between two requests of a sequence; at least a microsecond. */
  readonly maxIdleMs: number;
  readonly controls: readonly ControlInput[];
  readonly states: readonly StateSpec[];
  /** The model may ask for a request to be its sequence's next step. */
  readonly isIterative: boolean;
  /** A sequence that ends by being idle gets one last step with END, whose answer nobody sees (a Weir parameter). */
  readonly endsIdleWithStep: boolean;
}

export type BatchInputKind =
  | 'BATCH_ELEMENT_COUNT'
  | 'BATCH_ACCUMULATED_ELEMENT_COUNT'
  | 'BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO'
  | 'BATCH_MAX_ELEMENT_COUNT_AS_SHAPE'
  | 'BATCH_ITEM_SHAPE'
  | 'BATCH_ITEM_SHAPE_FLATTEN';

/** An input of the model, one for the whole batch, that tells what the requests' own inputs were. */
export interface BatchInput {
  readonly kind: BatchInputKind;
  /** As the model calls it; one kind may have several names. */
  readonly names: readonly string[];
  readonly datatype: 'INT32' | 'FP32';
  readonly source: string;
}

/** Outputs that are split among the requests by the shapes of an input (BATCH_SCATTER_WITH_INPUT_SHAPE). */
export interface BatchOutput {
  readonly names: readonly string[];
  readonly source: string;
}

export interface WarmupSample {
  readonly name: string;
  /** At least 1. */
  readonly count: number;
  /** They run as one batch; each of one row. Control inputs and states are among their inputs where the config has them there. */
  readonly requests: readonly InferRequest[];
}

/** So much of a resource is taken while an instance runs a batch. */
export interface ResourceDemand {
  readonly name: string;
  readonly isGlobal: boolean;
  readonly count: number;
}

/** One model of an ensemble, and which of the ensemble's tensors are its inputs and outputs. */
export interface EnsembleStep {
  readonly modelName: string;
  /** Decimal digits; `''` for the newest version that is ready. */
  readonly modelVersion: string;
  /** By name of the model's own. */
  readonly inputs: ReadonlyMap<string, string>;
  readonly outputs: ReadonlyMap<string, string>;
}

/** Models that answer a request together. */
export interface EnsembleSpec {
  readonly steps: readonly EnsembleStep[];
  /** Requests of each step that may run at once, of all requests together; 0 for any number. */
  readonly maxInflightRequests: number;
}

export type InstanceKind = 'CPU' | 'GPU' | 'MODEL';

export interface InstanceGroup {
  readonly name: string;
  readonly kind: InstanceKind;
  readonly count: number;
  readonly gpus: readonly number[];
  /** Loaded, and given no requests. */
  readonly isPassive: boolean;
  readonly resources: readonly ResourceDemand[];
  /** 2 gets half the turns of 1; at least 1. */
  readonly priority: number;
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
  /** Instead of `dynamicBatching`. */
  readonly sequenceBatching: SequenceBatching | undefined;
  /** Instead of a backend. */
  readonly ensemble: EnsembleSpec | undefined;
  readonly batchOptions: BatchOptions;
  readonly batchInputs: readonly BatchInput[];
  readonly batchOutputs: readonly BatchOutput[];
  /** Requests that may wait at once where no queue policy says it; the next one gets UNAVAILABLE. */
  readonly maxQueueSize: number;
  readonly warmups: readonly WarmupSample[];
  /** Whether answers are kept in the server's cache, if it has one. */
  readonly usesCache: boolean;
  readonly instanceGroups: readonly InstanceGroup[];
  /** Whether it answers a request any number of times. */
  readonly decoupled: boolean;
  /** `parameters` of the config: key to `string_value`. */
  readonly parameters: ReadonlyMap<string, string>;
  /** `optimization.graph.level`. */
  readonly graphLevel: number;
  readonly config: ModelConfigDocument;
}
