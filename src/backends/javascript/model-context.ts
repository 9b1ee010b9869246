import type { InstanceKind, ModelConfigDocument } from '../../streams/inference/model-spec.ts';
import type { CallAnswer, CallOptions, ModelCall } from './model-call.ts';
import type { FixedTensorArrays, ModelTensor } from './model-tensor.ts';

export interface ModelLogger {
  error(message: string): void;
  warning(message: string): void;
  info(message: string): void;
  /** Written from `--log-verbose=level` on; 1 where it is left out. */
  verbose(message: string, level?: number): void;
}

export interface ModelCounter {
  /** By 1 where it is left out. @throws ModelError for a negative number, and what is none */
  increment(by?: number): void;
  value(): Promise<number>;
}

export interface ModelGauge {
  set(value: number): void;
  increment(by?: number): void;
  value(): Promise<number>;
}

export interface ModelHistogram {
  observe(value: number): void;
}

type Labels = Readonly<Record<string, string>>;

/**
 * Metrics of the model's own, shown beside the server's. One asked for again with the same name and labels, by another instance as well, is the same
 * one; it goes with the last instance that has asked for it. What is counted reaches the server once the model lets the event loop turn.
 *
 * Each rejects with a ModelError for a name or labels that cannot be.
 */
export interface ModelMetrics {
  counter(name: string, description: string, labels?: Labels): Promise<ModelCounter>;
  gauge(name: string, description: string, labels?: Labels): Promise<ModelGauge>;
  /** @param buckets upper bounds, ascending */
  histogram(name: string, description: string, buckets: readonly number[], labels?: Labels): Promise<ModelHistogram>;
}

export interface LoadContext {
  readonly modelName: string;
  readonly modelVersion: string;
  /** The whole config, as clients read it. */
  readonly config: ModelConfigDocument;
  /** `parameters` of the config: key to `string_value`. */
  readonly parameters: ReadonlyMap<string, string>;
  readonly instance: { readonly name: string; readonly kind: InstanceKind; readonly device: number };
  /** The model's folder, and that of the version in it. */
  readonly modelDirectory: string;
  readonly versionDirectory: string;
  readonly logger: ModelLogger;
  readonly metrics: ModelMetrics;
  /** The newest version where it is left out. */
  isModelReady(name: string, version?: string): Promise<boolean>;
}

export interface ExecuteContext extends LoadContext {
  /**
   * An array for an output, all 0, in the memory from which the server reads: given as its `data`, nothing is copied. For one output of this
   * execution. A generator gets ordinary memory, whose content is copied with each answer.
   *
   * @throws RangeError for a shape that cannot be
   */
  allocate<D extends keyof FixedTensorArrays>(datatype: D, shape: readonly number[]): FixedTensorArrays[D];
  /** A tensor of the whole batch: `batch_input` of the config. @throws ModelError when there is none of the name */
  batchInput(name: string): ModelTensor;
  /**
   * Asks another model that answers once. Rejects with a ModelError: that model's with its code, CANCELLED, INVALID_ARGUMENT for a call that would wait
   * for itself, INTERNAL for what is no call.
   * Possible as long as `execute` runs; what is still under way then is cancelled.
   */
  infer(call: ModelCall, options?: CallOptions): Promise<CallAnswer>;
  /**
   * Asks another model that answers any number of times. An answer that has failed among others is thrown, and ends the iteration. A model that can wait
   * does so while 16,384 answers, or 64 MiB, were not read; twice that ends the call. Ending the iteration early cancels it.
   */
  inferMany(call: ModelCall, options?: CallOptions): AsyncIterableIterator<CallAnswer>;
}
