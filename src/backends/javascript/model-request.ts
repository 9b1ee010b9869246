import type { ParameterValue } from '../../streams/inference/parameters.ts';
import type { Datatype } from '../../streams/tensors/datatype.ts';
import type { ModelTensor } from './model-tensor.ts';

/** One request of an execution. */
export interface ModelRequest {
  /** The client's own; `''` when it gave none. */
  readonly id: string;
  readonly parameters: ReadonlyMap<string, ParameterValue>;
  /** Correlation id; `0n` or `''` for none. */
  readonly sequenceId: bigint | string;
  readonly sequenceStart: boolean;
  readonly sequenceEnd: boolean;
  readonly priority: bigint;
  /** `0n` for none. */
  readonly timeoutMicroseconds: bigint;
  /** Rows that it has in the batch; 1 for a model without batch dimension. */
  readonly rows: number;
  /** Of the inputs that it brings, control inputs and states among them. */
  readonly inputNames: readonly string[];
  /** Outputs that are wanted; others that the model gives are left out. */
  readonly outputNames: readonly string[];
  /** Whether its caller has gone. Right at any moment, in the middle of a loop as well. */
  readonly isCancelled: boolean;
  /** Aborted when its caller has gone, once the model lets the event loop turn. */
  readonly signal: AbortSignal;
  /**
   * @param datatype where it is given the input must have it, and `data` is typed after it
   * @throws ModelError INVALID_ARGUMENT when the request does not bring it, INTERNAL when the model has none of the name, or it has another datatype
   */
  input<D extends Datatype>(name: string, datatype?: D): ModelTensor<D>;
  /** The same for an input that may be missing. @throws ModelError when it has another datatype */
  optionalInput<D extends Datatype>(name: string, datatype?: D): ModelTensor<D> | undefined;
}
