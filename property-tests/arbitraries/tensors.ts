import fc from 'fast-check';
import { encodeBytesElements } from '../../src/streams/tensors/bytes-elements.ts';
import { type Datatype, datatypes, elementByteSize } from '../../src/streams/tensors/datatype.ts';
import { elementCount, type Shape } from '../../src/streams/tensors/shape.ts';
import { Tensor } from '../../src/streams/tensors/tensor.ts';

export const anyDatatype: fc.Arbitrary<Datatype> = fc.constantFrom(...datatypes);

/** Up to three dimensions of up to four; scalars and empty tensors too. */
export const anyShape: fc.Arbitrary<Shape> = fc.array(fc.nat(4), { maxLength: 3 });

const elementBytes = (datatype: Datatype, count: number): fc.Arbitrary<Uint8Array> => {
  if (datatype === 'BOOL') return fc.uint8Array({ minLength: count, maxLength: count, max: 1 });
  if (datatype === 'BYTES') {
    const element = fc.oneof(fc.uint8Array({ maxLength: 6 }), fc.string({ unit: 'binary', maxLength: 4 }));
    return fc.array(element, { minLength: count, maxLength: count }).map(encodeBytesElements);
  }
  const size = elementByteSize(datatype);
  const anyBits = fc.uint8Array({ minLength: count * size, maxLength: count * size });
  return fc.oneof(anyBits, edges(count, size));
};

/** Elements at the edges of their datatype: zeros of both signs, smallest, largest, infinities, NaNs. */
const edges = (count: number, size: number): fc.Arbitrary<Uint8Array> => {
  const element = fc
    .tuple(fc.constantFrom(0, 0xff), fc.constantFrom(0, 0x80, 0xff), fc.constantFrom(0, 0x80, 0x7f, 0xff))
    .map(([low, middle, high]) => [...Array<number>(Math.max(0, size - 2)).fill(low), middle, high].slice(-size));
  return fc.array(element, { minLength: count, maxLength: count }).map((elements) => Uint8Array.from(elements.flat()));
};

/** Any bits, at any offset of its buffer, which itself is the middle of a larger one, as Node's pooled Buffers are. */
export const tensorOf = (datatype: Datatype, shape: Shape): fc.Arbitrary<Tensor> =>
  fc.tuple(elementBytes(datatype, elementCount(shape)), fc.nat(9), fc.nat(3)).map(([bytes, before, after]) => {
    const pool = new Uint8Array(8 + before + bytes.byteLength + after).fill(0xa5);
    const buffer = pool.subarray(8);
    buffer.set(bytes, before);
    return new Tensor(datatype, shape, buffer, before, before + bytes.byteLength);
  });

export const anyTensor: fc.Arbitrary<Tensor> = fc.tuple(anyDatatype, anyShape).chain(([datatype, shape]) => tensorOf(datatype, shape));
