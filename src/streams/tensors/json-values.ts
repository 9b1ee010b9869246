import { isUtf8 } from 'node:buffer';
import { elementLength, lengthPrefixBytes, visitBytesElements, writeBytesElement } from './bytes-elements.ts';
import type { Datatype } from './datatype.ts';
import { elementByteSize } from './datatype.ts';
import { JsonValueError, wrongJsonType } from './json-value-error.ts';
import { elementCount } from './shape.ts';
import type { Tensor } from './tensor.ts';
import { isAligned, typedView } from './typed-view.ts';

/** Arrays within arrays that `readJsonValues` follows. */
export const deepestJsonNesting = 100;

const unsupported = (datatype: Datatype): JsonValueError =>
  new JsonValueError('unsupported-datatype', `${datatype} values have no JSON form`);

// ---------------------------------------------------------------- reading

/**
 * Bytes that `readJsonValues` needs for `values`, counted from the values themselves: a claimed `count` makes it no larger. Elements beyond
 * `count` and values of a wrong type are left to `readJsonValues` to refuse.
 *
 * @throws JsonValueError wrong-type when `values` is no array, too-deep
 */
export const jsonValuesByteSize = (datatype: Datatype, values: unknown, count: number): number => {
  if (!Array.isArray(values)) throw wrongJsonType('array');
  if (datatype !== 'BYTES') return Math.min(visitValues(values, 1, 0, Number.POSITIVE_INFINITY, ignore), count) * elementByteSize(datatype);
  let byteLength = 0;
  visitValues(values, 1, 0, Number.POSITIVE_INFINITY, (value, index) => {
    if (index < count && typeof value === 'string') byteLength += lengthPrefixBytes + elementLength(value);
  });
  return byteLength;
};

/**
 * Writes `count` parsed JSON values, flat or nested, into `into` in row-major order and the layout of the wire; answers the bytes written.
 * 64-bit integers past 2^53 come as bigint. Integers keep the low bits that their datatype holds, as in Triton; they must be integers that
 * 64 bits hold, and not negative for the unsigned ones. `null` is never 0. `into` holds at least `jsonValuesByteSize` bytes.
 *
 * @throws JsonValueError
 */
export const readJsonValues = (datatype: Datatype, values: unknown, count: number, into: Uint8Array): number => {
  if (!Array.isArray(values)) throw wrongJsonType('array');
  if (datatype === 'BYTES') return readStrings(values, count, into);
  if (datatype === 'FP16' || datatype === 'BF16') throw unsupported(datatype);
  const size = elementByteSize(datatype);
  const elements = typedView(datatype, into, 0, Math.floor(into.byteLength / size) * size);
  checkCount(visitValues(values, 1, 0, count, storeInto(datatype, elements)), count);
  if (count > elements.length) throw new RangeError(`${count} values of ${datatype} do not fit in ${into.byteLength} bytes`);
  if (!isAligned(datatype, into, 0)) into.set(new Uint8Array(elements.buffer, elements.byteOffset, count * size));
  return count * size;
};

type Store = (value: unknown, index: number) => void;

const ignore: Store = () => {};

const visitValues = (values: readonly unknown[], level: number, first: number, limit: number, store: Store): number => {
  if (level > deepestJsonNesting) throw new JsonValueError('too-deep', `arrays are nested more than ${deepestJsonNesting} levels deep`);
  let index = first;
  for (const value of values) {
    if (Array.isArray(value)) {
      index = visitValues(value, level + 1, index, limit, store);
      continue;
    }
    if (index === limit) throw new JsonValueError('too-many', `expected ${limit} values, got more`);
    store(value, index);
    index++;
  }
  return index;
};

const checkCount = (found: number, count: number): void => {
  if (found < count) throw new JsonValueError('too-few', `expected ${count} values, got ${found}`);
};

const storeInto = (datatype: Datatype, elements: ReturnType<typeof typedView>): Store => {
  if (elements instanceof BigInt64Array) {
    return (value, index) => {
      elements[index] = typeof value === 'bigint' ? signed64(value) : BigInt(signedInteger(value));
    };
  }
  if (elements instanceof BigUint64Array) {
    return (value, index) => {
      elements[index] = typeof value === 'bigint' ? unsigned64(value) : BigInt(unsignedInteger(value));
    };
  }
  if (elements instanceof Float32Array || elements instanceof Float64Array) {
    return (value, index) => {
      elements[index] = typeof value === 'number' ? value : wideNumber(value);
    };
  }
  if (datatype === 'BOOL') {
    return (value, index) => {
      if (typeof value !== 'boolean') throw wrongJsonType('boolean');
      elements[index] = value ? 1 : 0;
    };
  }
  if (elements instanceof Int8Array || elements instanceof Int16Array || elements instanceof Int32Array) {
    return (value, index) => {
      elements[index] = typeof value === 'bigint' ? low32(signed64(value)) : signedInteger(value);
    };
  }
  return (value, index) => {
    elements[index] = typeof value === 'bigint' ? low32(unsigned64(value)) : unsignedInteger(value);
  };
};

const wideNumber = (value: unknown): number => {
  if (typeof value === 'bigint') return Number(value);
  throw wrongJsonType('number');
};

const signedInteger = (value: unknown): number => {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value;
  throw wrongJsonType('signed-integer');
};

const unsignedInteger = (value: unknown): number => {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw wrongJsonType('unsigned-integer');
};

const signed64 = (value: bigint): bigint => {
  if (BigInt.asIntN(64, value) === value) return value;
  throw wrongJsonType('signed-integer');
};

const unsigned64 = (value: bigint): bigint => {
  if (BigInt.asUintN(64, value) === value) return value;
  throw wrongJsonType('unsigned-integer');
};

const low32 = (value: bigint): number => Number(BigInt.asIntN(32, value));

const readStrings = (values: readonly unknown[], count: number, into: Uint8Array): number => {
  const target = Buffer.from(into.buffer, into.byteOffset, into.byteLength);
  let position = 0;
  const found = visitValues(values, 1, 0, count, (value) => {
    if (typeof value !== 'string') throw wrongJsonType('string');
    // A lone surrogate has no UTF-8 form: Node would write U+FFFD in its place.
    if (!value.isWellFormed()) throw new JsonValueError('invalid-utf8', 'a string holds half of a surrogate pair');
    if (position + lengthPrefixBytes + elementLength(value) > target.byteLength) {
      throw new RangeError(`the strings do not fit in ${target.byteLength} bytes`);
    }
    position = writeBytesElement(target, position, value);
  });
  checkCount(found, count);
  return position;
};

// ---------------------------------------------------------------- writing

/**
 * The elements as the text of one flat JSON array, printed as Triton prints them: 64-bit integers in full, FP32 widened to double, floating
 * point always with a point or an exponent, and the bare tokens `NaN`, `Infinity` and `-Infinity`, which JSON itself does not know.
 *
 * @throws JsonValueError unsupported-datatype for FP16 and BF16; invalid-utf8 for BYTES that are no UTF-8 text
 */
export const writeJsonValues = (tensor: Tensor): string => {
  const { datatype, buffer, start, end } = tensor;
  if (datatype === 'BYTES') return writeStrings(tensor);
  if (datatype === 'FP16' || datatype === 'BF16') throw unsupported(datatype);
  const view = typedView(datatype, buffer, start, end);
  if (view instanceof Float32Array || view instanceof Float64Array) return writeFloats(view);
  if (view instanceof BigInt64Array || view instanceof BigUint64Array) return writeWideIntegers(view);
  if (datatype === 'BOOL') return writeBooleans(view);
  return JSON.stringify(Array.from(view));
};

/** JSON.stringify is the fastest printer of doubles that there is, but for integers and for what JSON cannot say: chunks that have none. */
const floatChunk = 512;

const writeFloats = (view: Float32Array | Float64Array): string => {
  let text = '';
  for (let first = 0; first < view.length; first += floatChunk) {
    const chunk = view.subarray(first, first + floatChunk);
    const separator = first === 0 ? '[' : ',';
    text += separator + (hasOddFloat(chunk) ? Array.from(chunk, formatFloat).join(',') : JSON.stringify(Array.from(chunk)).slice(1, -1));
  }
  return text === '' ? '[]' : `${text}]`;
};

const hasOddFloat = (chunk: Float32Array | Float64Array): boolean => {
  for (const value of chunk) if (Number.isInteger(value) || !Number.isFinite(value)) return true;
  return false;
};

const formatFloat = (value: number): string => {
  if (!Number.isInteger(value)) return String(value);
  const digits = String(value);
  if (digits.includes('e')) return digits.replace('e+', 'e');
  return Object.is(value, -0) ? '-0.0' : `${digits}.0`;
};

const writeWideIntegers = (view: BigInt64Array | BigUint64Array): string => {
  // Printing a number costs a fraction of making a BigInt and printing that.
  const words = new Uint32Array(view.buffer, view.byteOffset, view.length * 2);
  const isSigned = view instanceof BigInt64Array;
  let text = '';
  for (let index = 0; index < view.length; index++) {
    const low = words[index * 2] ?? 0;
    const high = words[index * 2 + 1] ?? 0;
    const signedHigh = isSigned ? high | 0 : high;
    const isExact = signedHigh < 0x20_0000 && signedHigh >= -0x20_0000;
    text += `${index === 0 ? '' : ','}${isExact ? signedHigh * 2 ** 32 + low : view[index]}`;
  }
  return `[${text}]`;
};

const writeBooleans = (view: ArrayLike<unknown>): string => {
  const values = new Array<boolean>(view.length);
  for (let index = 0; index < view.length; index++) values[index] = view[index] !== 0;
  return JSON.stringify(values);
};

const writeStrings = ({ buffer, start, end, shape }: Tensor): string => {
  const source = Buffer.from(buffer.buffer, buffer.byteOffset, buffer.byteLength);
  let text = '';
  visitBytesElements(buffer, start, end, elementCount(shape), (from, to, index) => {
    const value = source.toString('utf8', from, to);
    // Broken UTF-8 decodes to U+FFFD; so does U+FFFD itself.
    if (value.includes('\uFFFD') && !isUtf8(source.subarray(from, to))) {
      throw new JsonValueError('invalid-utf8', `string element ${index} is not valid UTF-8`);
    }
    text += `${index === 0 ? '' : ','}${JSON.stringify(value)}`;
  });
  return `[${text}]`;
};
