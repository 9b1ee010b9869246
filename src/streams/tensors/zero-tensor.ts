import { lengthPrefixBytes } from './bytes-elements.ts';
import type { Datatype } from './datatype.ts';
import { elementByteSize } from './datatype.ts';
import type { Shape } from './shape.ts';
import { elementCount } from './shape.ts';
import { Tensor } from './tensor.ts';

/** All elements 0, or empty. */
export const zeroTensor = (datatype: Datatype, shape: Shape): Tensor => {
  const sizeBytes = datatype === 'BYTES' ? lengthPrefixBytes : elementByteSize(datatype);
  return new Tensor(datatype, shape, Buffer.alloc(elementCount(shape) * sizeBytes));
};
