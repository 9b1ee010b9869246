import { randomFillSync } from 'node:crypto';
import { lengthPrefixBytes } from '../../streams/tensors/bytes-elements.ts';
import { type Datatype, elementByteSize } from '../../streams/tensors/datatype.ts';
import { numberToBf16, numberToFp16 } from '../../streams/tensors/half.ts';
import { elementCount, type Shape } from '../../streams/tensors/shape.ts';

/** Bytes of so many zeros, or empty strings, of which each has its length alone. */
export const zerosByteLength = (datatype: Datatype, shape: Shape): number =>
  elementCount(shape) * (datatype === 'BYTES' ? lengthPrefixBytes : elementByteSize(datatype));

export const zeros = (datatype: Datatype, shape: Shape): Uint8Array => new Uint8Array(zerosByteLength(datatype, shape));

/** From 0 to less than 1. */
const fill = (view: Float32Array | Float64Array): Uint8Array => {
  for (let index = 0; index < view.length; index++) view[index] = Math.random();
  return new Uint8Array(view.buffer);
};

const fillHalves = (count: number, toBits: (value: number) => number): Uint8Array => {
  const view = new Uint16Array(count);
  for (let index = 0; index < count; index++) view[index] = toBits(Math.random());
  return new Uint8Array(view.buffer);
};

/** Integers of any value, floating point from 0 to 1, and empty strings, as in Triton. */
export const randomValues = (datatype: Datatype, shape: Shape): Uint8Array => {
  const count = elementCount(shape);
  switch (datatype) {
    case 'BYTES':
      return zeros(datatype, shape);
    case 'FP32':
      return fill(new Float32Array(count));
    case 'FP64':
      return fill(new Float64Array(count));
    case 'FP16':
      return fillHalves(count, numberToFp16);
    case 'BF16':
      return fillHalves(count, numberToBf16);
    case 'BOOL':
      return randomFillSync(new Uint8Array(count)).map((byte) => byte & 1);
    default:
      return randomFillSync(new Uint8Array(count * elementByteSize(datatype)));
  }
};
