import type { Datatype } from './datatype.ts';

/** Every datatype but BYTES: those whose elements have one size. */
export type FixedDatatype = Exclude<Datatype, 'BYTES'>;

/** FP16 and BF16 are held as their bits; BOOL as bytes. */
export type TypedView =
  | Uint8Array
  | Uint16Array
  | Uint32Array
  | BigUint64Array
  | Int8Array
  | Int16Array
  | Int32Array
  | BigInt64Array
  | Float32Array
  | Float64Array;

interface StorageConstructor {
  readonly BYTES_PER_ELEMENT: number;
  new (buffer: ArrayBufferLike, byteOffset: number, length: number): TypedView;
}

const storages: Readonly<Record<FixedDatatype, StorageConstructor>> = {
  BOOL: Uint8Array,
  UINT8: Uint8Array,
  UINT16: Uint16Array,
  UINT32: Uint32Array,
  UINT64: BigUint64Array,
  INT8: Int8Array,
  INT16: Int16Array,
  INT32: Int32Array,
  INT64: BigInt64Array,
  FP16: Uint16Array,
  FP32: Float32Array,
  FP64: Float64Array,
  BF16: Uint16Array,
};

/** Elements of `buffer` from byte `start` to `end`: a view where they lie aligned, a copy elsewhere. Ask `isAligned` which of the two. */
export const typedView = (datatype: FixedDatatype, buffer: Uint8Array, start: number, end: number): TypedView => {
  const storage = storages[datatype];
  const length = (end - start) / storage.BYTES_PER_ELEMENT;
  if (isAligned(datatype, buffer, start)) return new storage(buffer.buffer, buffer.byteOffset + start, length);
  const copy = new Uint8Array(end - start);
  copy.set(buffer.subarray(start, end));
  return new storage(copy.buffer, 0, length);
};

/** Whether a typed array can begin at byte `start` of `buffer`. */
export const isAligned = (datatype: FixedDatatype, buffer: Uint8Array, start: number): boolean =>
  (buffer.byteOffset + start) % storages[datatype].BYTES_PER_ELEMENT === 0;

/** Whether `values` is the kind of array that holds the elements of `datatype`: Float32Array for FP32, Uint16Array for FP16 and BF16. */
export const isStorageOf = (datatype: FixedDatatype, values: ArrayBufferView): values is TypedView => values instanceof storages[datatype];
