import { Tensor } from './tensor.ts';

/** The same tensor in memory of its own. A `Buffer` is a view where a `Uint8Array` would be a copy: `slice` is not enough. */
export const copyTensor = ({ datatype, shape, buffer, start, end }: Tensor): Tensor => {
  const own = new Uint8Array(end - start);
  own.set(buffer.subarray(start, end));
  return new Tensor(datatype, shape, own);
};
