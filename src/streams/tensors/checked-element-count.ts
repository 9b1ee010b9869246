import { elementCount, formatShape, type Shape } from './shape.ts';

/** Elements of a shape that a program gave. @throws RangeError for a dimension that is no size, or for more elements than can be counted */
export const checkedElementCount = (shape: Shape): number => {
  const count = elementCount(shape);
  if (shape.every((size) => Number.isSafeInteger(size) && size >= 0) && Number.isSafeInteger(count)) return count;
  throw new RangeError(`a shape is made of non-negative integers with a product below 2^53, got ${formatShape(shape)}`);
};
