import { encodeBytesElements } from './bytes-elements.ts';
import { checkedElementCount } from './checked-element-count.ts';
import type { Datatype } from './datatype.ts';
import { elementByteSize } from './datatype.ts';
import { numberToBf16, numberToFp16 } from './half.ts';
import { formatShape, type Shape } from './shape.ts';
import { Tensor } from './tensor.ts';
import { type FixedDatatype, isStorageOf, type TypedView, typedView } from './typed-view.ts';

export type TensorValue = number | bigint | boolean | string | Uint8Array;

/**
 * A tensor of the values of a program, in row-major order. A typed array of the datatype's own kind (Float32Array for FP32, Uint16Array for the bits
 * of FP16 and BF16, Uint8Array for BOOL) is shared, not copied. Otherwise each value is converted: numbers for integers must be integers in
 * range, floating point is rounded to the nearest, BOOL takes booleans, BYTES takes strings (as UTF-8) and Uint8Arrays.
 *
 * @throws TypeError for a value of the wrong kind, RangeError for one out of range and for a count that is not the shape's
 */
export const tensorFrom = (datatype: Datatype, shape: Shape, values: TypedView | readonly TensorValue[]): Tensor => {
  const count = checkedElementCount(shape);
  if (values.length !== count) throw new RangeError(`expected ${count} values for shape ${formatShape(shape)}, got ${values.length}`);
  if (datatype === 'BYTES')
    return new Tensor(datatype, shape, encodeBytesElements(Array.from<TensorValue, Uint8Array | string>(values, bytesValue)));
  if (!isList(values) && isStorageOf(datatype, values)) {
    return new Tensor(datatype, shape, new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
  }
  const bytes = new Uint8Array(count * elementByteSize(datatype));
  const view = typedView(datatype, bytes, 0, bytes.byteLength);
  let index = 0;
  for (const value of values) {
    if (view instanceof BigInt64Array || view instanceof BigUint64Array) view[index] = wideInteger(datatype, value, index);
    else view[index] = narrowValue(datatype, value, index);
    index++;
  }
  return new Tensor(datatype, shape, bytes);
};

const isList = (values: TypedView | readonly TensorValue[]): values is readonly TensorValue[] => Array.isArray(values);

const describe = (value: unknown): string => {
  if (value instanceof Uint8Array) return 'a Uint8Array';
  if (typeof value !== 'object') return `${typeof value} ${String(value)}`;
  return value === null ? 'null' : Array.isArray(value) ? 'an array' : 'an object';
};

const wrong = (wanted: string, datatype: Datatype, value: TensorValue, index: number): TypeError =>
  new TypeError(`expected ${wanted} for ${datatype} at index ${index}, got ${describe(value)}`);

const bytesValue = (value: TensorValue, index: number): string | Uint8Array => {
  if (value instanceof Uint8Array) return value;
  if (typeof value !== 'string') throw wrong('a string or Uint8Array', 'BYTES', value, index);
  if (!value.isWellFormed()) throw new TypeError(`the string at index ${index} holds half of a surrogate pair and has no UTF-8 form`);
  return value;
};

const wideInteger = (datatype: Datatype, value: TensorValue, index: number): bigint => {
  const isInteger = typeof value === 'bigint' || (typeof value === 'number' && Number.isSafeInteger(value));
  if (!isInteger) throw wrong('a bigint or a safe integer', datatype, value, index);
  const wide = BigInt(value);
  if ((datatype === 'INT64' ? BigInt.asIntN(64, wide) : BigInt.asUintN(64, wide)) === wide) return wide;
  throw outOfRange(datatype, value, index);
};

const outOfRange = (datatype: Datatype, value: TensorValue, index: number): RangeError =>
  new RangeError(`${describe(value)} at index ${index} is out of the range of ${datatype}`);

const integerRanges: Readonly<Partial<Record<FixedDatatype, readonly [number, number]>>> = {
  UINT8: [0, 0xff],
  UINT16: [0, 0xffff],
  UINT32: [0, 0xffff_ffff],
  INT8: [-0x80, 0x7f],
  INT16: [-0x8000, 0x7fff],
  INT32: [-0x8000_0000, 0x7fff_ffff],
};

const narrowValue = (datatype: FixedDatatype, value: TensorValue, index: number): number => {
  if (datatype === 'BOOL') {
    if (typeof value !== 'boolean') throw wrong('a boolean', datatype, value, index);
    return value ? 1 : 0;
  }
  if (typeof value !== 'number' && typeof value !== 'bigint') throw wrong('a number', datatype, value, index);
  const number = Number(value);
  const range = integerRanges[datatype];
  if (range !== undefined) {
    if (!Number.isInteger(number)) throw wrong('an integer', datatype, value, index);
    if (number < range[0] || number > range[1]) throw outOfRange(datatype, value, index);
    return number;
  }
  if (datatype === 'FP16') return numberToFp16(number);
  return datatype === 'BF16' ? numberToBf16(number) : number;
};
