import type { Datatype } from '../../streams/tensors/datatype.ts';
import type { TensorValue } from '../../streams/tensors/tensor-from-values.ts';
import type { TypedView } from '../../streams/tensors/typed-view.ts';

/** What holds the elements of a tensor, by its datatype. FP16 and BF16 are their bits, BOOL bytes of 0 and 1. */
export interface TensorArrays {
  BOOL: Uint8Array;
  UINT8: Uint8Array;
  UINT16: Uint16Array;
  UINT32: Uint32Array;
  UINT64: BigUint64Array;
  INT8: Int8Array;
  INT16: Int16Array;
  INT32: Int32Array;
  INT64: BigInt64Array;
  FP16: Uint16Array;
  FP32: Float32Array;
  FP64: Float64Array;
  BYTES: readonly Buffer[];
  BF16: Uint16Array;
}

export type FixedTensorArrays = Omit<TensorArrays, 'BYTES'>;

/**
 * A tensor that a model is given: an input of a request, or an output of a model that it has called. It may be given back as an output as it is,
 * which copies nothing.
 *
 * An input is a view of memory that other requests use after `execute` has ended; whoever keeps it longer copies it.
 */
export interface ModelTensor<D extends Datatype = Datatype> {
  readonly datatype: D;
  readonly shape: readonly number[];
  /** The elements in row-major order: a view, without a copy. BYTES are views of each element. */
  readonly data: TensorArrays[D];
  /**
   * Elements of BYTES as text.
   *
   * @throws ModelError for another datatype
   */
  strings(): string[];
}

/** A tensor that a model makes. */
export interface MadeTensor {
  /** Of an output, the config's where it is left out; for an input of another model it must be there. */
  readonly datatype?: Datatype | undefined;
  readonly shape: readonly number[];
  /**
   * The array that `TensorArrays` has for the datatype; or values, which are converted: numbers and bigints, booleans for BOOL, strings and Uint8Arrays
   * for BYTES.
   */
  readonly data: TypedView | readonly TensorValue[];
}
