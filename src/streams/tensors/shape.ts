/** Sizes of a tensor's dimensions, outermost first; `[]` is a scalar. In a config or a signature −1 means any size. */
export type Shape = readonly number[];

/** Number of elements; 1 for a scalar. Exact only up to `Number.MAX_SAFE_INTEGER`: check shapes from outside with `isCountable` first. */
export const elementCount = (shape: Shape): number => {
  let count = 1;
  for (const size of shape) count *= size;
  return count;
};

/** Whether the element count, and that count times `bytesPerElement`, can be held exactly. */
export const isCountable = (shape: Shape, bytesPerElement = 1): boolean =>
  elementCount(shape) * Math.max(1, bytesPerElement) <= Number.MAX_SAFE_INTEGER;

/** `[-1,16]`: without blanks, as Triton's messages have it. */
export const formatShape = (shape: Shape): string => `[${shape.join(',')}]`;

/** Whether `shape` agrees with `pattern`, in which −1 stands for any size. */
export const matchesShape = (pattern: Shape, shape: Shape): boolean => {
  if (pattern.length !== shape.length) return false;
  for (let axis = 0; axis < pattern.length; axis++) {
    if (pattern[axis] !== -1 && pattern[axis] !== shape[axis]) return false;
  }
  return true;
};

export const sameShape = (a: Shape, b: Shape): boolean => {
  if (a.length !== b.length) return false;
  for (let axis = 0; axis < a.length; axis++) if (a[axis] !== b[axis]) return false;
  return true;
};
