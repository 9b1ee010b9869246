import { concatInto } from '../../streams/tensors/concat.ts';
import { Tensor, type Tensors } from '../../streams/tensors/tensor.ts';

/** From here on a buffer of its own, since a part of a shared one would keep the whole of it alive. */
const ownBufferBytes = 1024;

const lies = ({ buffer }: Tensor, inputs: Tensors): boolean => {
  for (const input of inputs.values()) if (input.buffer === buffer) return true;
  return false;
};

/**
 * A tensor of an answer for longer than `next()`: a copy, or the very one where it lies in memory that came with the request, which stays as it is
 * as long as the request does.
 */
export const keepTensor = (tensor: Tensor, inputs: Tensors): Tensor => {
  if (lies(tensor, inputs)) return tensor;
  const { datatype, shape, byteLength } = tensor;
  const memory = byteLength < ownBufferBytes ? Buffer.allocUnsafe(byteLength) : Buffer.allocUnsafeSlow(byteLength);
  concatInto(memory, 0, [tensor]);
  return new Tensor(datatype, shape, memory);
};
