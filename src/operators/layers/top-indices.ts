/**
 * Indices, counted from `first`, of the `wanted` highest of `count` values, highest first; of equals the earlier one first, NaN last.
 * Takes `count · log(wanted)` steps.
 */
export const topIndices = (values: ArrayLike<number | bigint>, first: number, count: number, wanted: number): Uint32Array => {
  // A heap whose root is the worst of those kept.
  const heap = new Uint32Array(Math.min(wanted, count));
  const isWorse = (a: number, b: number): boolean => {
    const left = values[first + a] ?? Number.NaN;
    const right = values[first + b] ?? Number.NaN;
    if (left < right) return true;
    if (left > right) return false;
    // They are equal, or at least one is NaN.
    const isLeftNaN = Number.isNaN(left);
    return isLeftNaN === Number.isNaN(right) ? a > b : isLeftNaN;
  };
  const sink = (start: number, size: number): void => {
    let parent = start;
    const moving = heap[parent] ?? 0;
    for (;;) {
      let child = parent * 2 + 1;
      if (child >= size) break;
      if (child + 1 < size && isWorse(heap[child + 1] ?? 0, heap[child] ?? 0)) child++;
      const candidate = heap[child] ?? 0;
      if (!isWorse(candidate, moving)) break;
      heap[parent] = candidate;
      parent = child;
    }
    heap[parent] = moving;
  };
  for (let index = 0; index < heap.length; index++) heap[index] = index;
  for (let parent = (heap.length >> 1) - 1; parent >= 0; parent--) sink(parent, heap.length);
  for (let index = heap.length; index < count; index++) {
    if (isWorse(index, heap[0] ?? 0)) continue;
    heap[0] = index;
    sink(0, heap.length);
  }
  // Taking the worst off, again and again, fills the array from its end.
  for (let size = heap.length - 1; size > 0; size--) {
    const worst = heap[0] ?? 0;
    heap[0] = heap[size] ?? 0;
    heap[size] = worst;
    sink(0, size);
  }
  return heap;
};
