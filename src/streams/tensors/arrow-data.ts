import type { Data, DataType } from 'apache-arrow';
import { arrowLibrary } from './arrow-library.ts';
import { checkBytesElements, lengthPrefixBytes, visitBytesElements } from './bytes-elements.ts';
import type { Datatype } from './datatype.ts';
import { elementCount } from './shape.ts';
import type { Tensor } from './tensor.ts';
import { typedView } from './typed-view.ts';

/** The last byte that 32-bit offsets can reach. */
const longestBinary = 2 ** 31 - 1;

/**
 * The elements of a tensor as one flat Arrow column without nulls. It shares the tensor's buffer where that is aligned and holds a copy
 * elsewhere and for BYTES, whose wire form has a length before each element. BOOL is Uint8, since Arrow packs booleans into bits; BF16,
 * which Arrow does not have, is Uint16 with its bits.
 *
 * @throws BytesLayoutError, or RangeError past 2 GiB of BYTES
 */
export const arrowData = (tensor: Tensor): Data => {
  const { datatype, buffer, start, end, shape } = tensor;
  const length = elementCount(shape);
  if (datatype === 'BYTES') return binaryData(tensor, length);
  const { Data, BufferType } = arrowLibrary();
  return new Data(arrowType(datatype), 0, length, 0, { [BufferType.DATA]: typedView(datatype, buffer, start, end) });
};

/** The Arrow type of a tensor's column. */
export const arrowType = (datatype: Datatype): DataType => {
  const arrow = arrowLibrary();
  switch (datatype) {
    case 'BOOL':
    case 'UINT8':
      return new arrow.Uint8();
    case 'BF16':
    case 'UINT16':
      return new arrow.Uint16();
    case 'UINT32':
      return new arrow.Uint32();
    case 'UINT64':
      return new arrow.Uint64();
    case 'INT8':
      return new arrow.Int8();
    case 'INT16':
      return new arrow.Int16();
    case 'INT32':
      return new arrow.Int32();
    case 'INT64':
      return new arrow.Int64();
    case 'FP16':
      return new arrow.Float16();
    case 'FP32':
      return new arrow.Float32();
    case 'FP64':
      return new arrow.Float64();
    case 'BYTES':
      return new arrow.Binary();
  }
};

const binaryData = ({ buffer, start, end }: Tensor, length: number): Data => {
  checkBytesElements(buffer, start, end, length);
  const byteLength = end - start - length * lengthPrefixBytes;
  if (byteLength > longestBinary) throw new RangeError(`${byteLength} bytes of strings are more than an Arrow Binary column holds`);
  const valueOffsets = new Int32Array(length + 1);
  const values = new Uint8Array(byteLength);
  let offset = 0;
  visitBytesElements(buffer, start, end, length, (from, to, index) => {
    values.set(buffer.subarray(from, to), offset);
    offset += to - from;
    valueOffsets[index + 1] = offset;
  });
  const arrow = arrowLibrary();
  return arrow.makeData({ type: new arrow.Binary(), length, nullCount: 0, valueOffsets, data: values });
};
