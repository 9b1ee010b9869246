import type { Data } from 'apache-arrow';
import { arrowType } from './arrow-data.ts';
import { arrowLibrary } from './arrow-library.ts';
import { lengthPrefixBytes } from './bytes-elements.ts';
import { checkedElementCount } from './checked-element-count.ts';
import type { Datatype } from './datatype.ts';
import { formatShape, type Shape } from './shape.ts';
import { Tensor } from './tensor.ts';

/**
 * The tensor that an Arrow column holds, sharing the column's buffer except for BYTES and for Arrow's bit-packed Bool, which are copied.
 * BYTES come from Binary, LargeBinary, Utf8 or LargeUtf8; BOOL from Uint8 or Bool; every other datatype from the type that `arrowData`
 * gives it. The column may be a slice.
 *
 * @throws TypeError for another type or for nulls, RangeError when the column is not as long as `shape` says
 */
export const tensorFromData = (datatype: Datatype, shape: Shape, data: Data): Tensor => {
  const count = checkedElementCount(shape);
  if (data.length !== count) throw new RangeError(`expected ${count} elements for shape ${formatShape(shape)}, got ${data.length}`);
  if (data.nullCount > 0) throw new TypeError(`a tensor holds no nulls, got ${data.nullCount}`);
  const { Type } = arrowLibrary();
  const isBinary = [Type.Binary, Type.LargeBinary, Type.Utf8, Type.LargeUtf8].includes(data.typeId);
  if (datatype === 'BYTES' && isBinary) return new Tensor(datatype, shape, wireBytes(data));
  if (datatype === 'BOOL' && data.typeId === Type.Bool) return new Tensor(datatype, shape, unpackedBits(data));
  const wanted = arrowType(datatype);
  if (String(data.type) !== String(wanted)) throw new TypeError(`expected an Arrow column of ${wanted} for ${datatype}, got ${data.type}`);
  const values: ArrayBufferView = data.values;
  return new Tensor(
    datatype,
    shape,
    new Uint8Array(values.buffer, values.byteOffset, count * (values.byteLength / Math.max(1, data.values.length))),
  );
};

/** A slice keeps the values of its parent, so that its offsets need not begin at 0. */
const wireBytes = (data: Data): Uint8Array => {
  const offsets: ArrayLike<number | bigint> = data.valueOffsets;
  const values: Uint8Array = data.values;
  const first = Number(offsets[0] ?? 0);
  const last = Number(offsets[data.length] ?? 0);
  const bytes = Buffer.allocUnsafe(last - first + data.length * lengthPrefixBytes);
  let position = 0;
  for (let index = 0; index < data.length; index++) {
    const from = Number(offsets[index]);
    const to = Number(offsets[index + 1]);
    position = bytes.writeUInt32LE(to - from, position);
    bytes.set(values.subarray(from, to), position);
    position += to - from;
  }
  return bytes;
};

const unpackedBits = (data: Data): Uint8Array => {
  const bits: Uint8Array = data.values;
  const bytes = new Uint8Array(data.length);
  for (let index = 0; index < data.length; index++) {
    const bit = data.offset + index;
    bytes[index] = ((bits[bit >> 3] ?? 0) >> (bit & 7)) & 1;
  }
  return bytes;
};
