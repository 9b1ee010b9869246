import { describe, expect, it } from 'vitest';
import { resizeTensor, visitOverlap } from '../../../src/operators/batching/resize-tensor.ts';
import type { Shape } from '../../../src/streams/tensors/shape.ts';
import { Tensor } from '../../../src/streams/tensors/tensor.ts';
import { tensorFrom } from '../../../src/streams/tensors/tensor-from-values.ts';
import { tensorStrings, tensorValues } from '../../../src/streams/tensors/tensor-values.ts';

const runs = (from: Shape, to: Shape): number[][] => {
  const seen: number[][] = [];
  visitOverlap(from, to, (...run) => seen.push(run));
  return seen;
};

describe('visitOverlap', () => {
  it('goes in as few runs as there can be', () => {
    expect(runs([2, 3], [2, 3])).toEqual([[0, 0, 6]]);
    expect(runs([2, 3], [4, 3])).toEqual([[0, 0, 6]]);
    expect(runs([2, 3], [2, 4])).toEqual([
      [0, 0, 3],
      [3, 4, 3],
    ]);
    expect(runs([2, 2, 5], [2, 3, 5])).toEqual([
      [0, 0, 10],
      [10, 15, 10],
    ]);
    expect(runs([], [])).toEqual([[0, 0, 1]]);
    expect(runs([2, 0], [2, 4])).toEqual([]);
  });

  it('takes the smaller of both along each axis', () => {
    expect(runs([3, 2], [2, 3])).toEqual([
      [0, 0, 2],
      [2, 3, 2],
    ]);
  });
});

describe('resizeTensor', () => {
  it('keeps each element at its index, and fills the rest', () => {
    const tensor = tensorFrom('INT16', [2, 2], [1, 2, 3, 4]);
    const filling = tensorFrom('INT16', [1], [-7]).bytes;
    const larger = resizeTensor(tensor, [3, 3], filling);
    expect([...tensorValues(larger)]).toEqual([1, 2, -7, 3, 4, -7, -7, -7, -7]);
    expect([...tensorValues(resizeTensor(larger, [2, 2], filling))]).toEqual([1, 2, 3, 4]);
    expect([...tensorValues(resizeTensor(tensor, [1, 3], new Uint8Array(2)))]).toEqual([1, 2, 0]);
  });

  it('does so with strings, which have no size of their own', () => {
    const around = tensorFrom('BYTES', [4], ['before', 'a', 'bcd', 'after']);
    const tensor = new Tensor('BYTES', [2, 1], around.buffer, 10, 22);
    const filling = tensorFrom('BYTES', [1], ['']).bytes;
    const larger = resizeTensor(tensor, [3, 2], filling);
    expect(tensorStrings(larger)).toEqual(['a', '', 'bcd', '', '', '']);
    expect(larger.buffer.byteLength).toBe(larger.byteLength);
    expect(tensorStrings(resizeTensor(larger, [2, 1], filling))).toEqual(['a', 'bcd']);
    expect(tensorStrings(resizeTensor(larger, [4, 1], filling))).toEqual(['a', 'bcd', '', '']);
  });
});
