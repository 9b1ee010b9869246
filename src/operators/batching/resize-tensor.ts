import { skipBytesElements } from '../../streams/tensors/bytes-elements.ts';
import { elementByteSize } from '../../streams/tensors/datatype.ts';
import { elementCount, type Shape } from '../../streams/tensors/shape.ts';
import { Tensor } from '../../streams/tensors/tensor.ts';

const copyBytes = Buffer.prototype.copy;

/**
 * Visits what two shapes of one rank have in common, as runs of elements that follow each other in both, in row-major order: where a run begins
 * in a tensor of the one and of the other, in elements, and how long it is.
 */
export const visitOverlap = (from: Shape, to: Shape, visit: (fromAt: number, toAt: number, count: number) => void): void => {
  const common = from.map((size, axis) => Math.min(size, to[axis] ?? 0));
  // Behind the last axis on which they differ everything is contiguous in both.
  const last = Math.max(
    0,
    from.findLastIndex((size, axis) => size !== to[axis]),
  );
  const run = elementCount(common.slice(last));
  if (run === 0) return;
  const walk = (axis: number, fromAt: number, toAt: number): void => {
    if (axis >= last) {
      visit(fromAt, toAt, run);
      return;
    }
    const fromStride = elementCount(from.slice(axis + 1));
    const toStride = elementCount(to.slice(axis + 1));
    for (let index = 0; index < (common[axis] ?? 0); index++) walk(axis + 1, fromAt + index * fromStride, toAt + index * toStride);
  };
  walk(0, 0, 0);
};

/**
 * A copy with another shape of the same rank: each element keeps its index along every axis, elements that `shape` has no room for are left out,
 * and new ones are `filling`: the bytes of one element, of which those of BYTES begin with their length.
 *
 * @throws BytesLayoutError
 */
export const resizeTensor = (tensor: Tensor, shape: Shape, filling: Uint8Array): Tensor =>
  tensor.datatype === 'BYTES' ? resizeStrings(tensor, shape, filling) : resizeFixed(tensor, shape, filling);

const resizeFixed = ({ datatype, shape: from, buffer, start }: Tensor, shape: Shape, filling: Uint8Array): Tensor => {
  const size = elementByteSize(datatype);
  const target = Buffer.allocUnsafe(elementCount(shape) * size);
  // A pattern of bytes takes longer than one byte over and over.
  target.fill(filling.every((byte) => byte === 0) ? 0 : filling);
  visitOverlap(from, shape, (fromAt, toAt, count) => {
    const begin = start + fromAt * size;
    copyBytes.call(buffer, target, toAt * size, begin, begin + count * size);
  });
  return new Tensor(datatype, shape, target);
};

/** Both sides are gone through from their beginning, since strings have no places that could be computed. */
const resizeStrings = ({ datatype, shape: from, buffer, start, end }: Tensor, shape: Shape, filling: Uint8Array): Tensor => {
  const count = elementCount(shape);
  let kept = 0;
  visitOverlap(from, shape, (_from, _to, run) => {
    kept += run;
  });
  const target = Buffer.allocUnsafe(end - start + (count - kept) * filling.byteLength);
  let read = 0;
  let readAt = start;
  let written = 0;
  let writeAt = 0;
  const fillUpTo = (element: number): void => {
    const until = writeAt + (element - written) * filling.byteLength;
    target.fill(filling, writeAt, until);
    writeAt = until;
    written = element;
  };
  visitOverlap(from, shape, (fromAt, toAt, run) => {
    fillUpTo(toAt);
    const begin = skipBytesElements(buffer, readAt, end, fromAt - read);
    readAt = skipBytesElements(buffer, begin, end, run);
    read = fromAt + run;
    writeAt += copyBytes.call(buffer, target, writeAt, begin, readAt);
    written += run;
  });
  fillUpTo(count);
  return new Tensor(datatype, shape, target, 0, writeAt);
};
