import type { Tensor } from './tensor.ts';

const copyBytes = Buffer.prototype.copy;

/**
 * Copies the elements of `tensors` behind one another into `target` from byte `offset` on: for tensors of one datatype whose shapes differ in
 * dimension 0 alone, that is their concatenation along it. Answers where the copy ends.
 *
 * @throws RangeError when `target` is too small; nothing has been written then
 */
export const concatInto = (target: Buffer, offset: number, tensors: Iterable<Tensor>): number => {
  let end = offset;
  for (const tensor of tensors) end += tensor.end - tensor.start;
  if (end > target.byteLength) throw new RangeError(`${end - offset} bytes do not fit at ${offset} in a buffer of ${target.byteLength}`);
  let position = offset;
  for (const { buffer, start, end: last } of tensors) {
    // At any alignment a fraction of what `set` costs, and no view is made; it takes any Uint8Array for `this`.
    copyBytes.call(buffer, target, position, start, last);
    position += last - start;
  }
  return position;
};
