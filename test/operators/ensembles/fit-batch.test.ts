import { expect, it } from 'vitest';
import { fitBatch } from '../../../src/operators/ensembles/fit-batch.ts';
import { keepTensor } from '../../../src/operators/ensembles/keep-tensor.ts';
import { Tensor } from '../../../src/streams/tensors/tensor.ts';

const tensor = (...shape: readonly number[]): Tensor => new Tensor('UINT8', shape, new Uint8Array(shape.reduce((a, b) => a * b, 1)));

it.each([
  ['as-is', [4], [1, 4], [1, 4]],
  // The taker batches, the maker does not.
  ['add', [4], [4], [1, 4]],
  ['add', [-1], [4], [1, 4]],
  ['add', [4], [3, 4], [3, 4]],
  // The other way round.
  ['strip', [4], [1, 4], [4]],
  ['strip', [4], [2, 4], [2, 4]],
  ['strip', [-1, 4], [1, 4], [1, 4]],
] as const)('%s to dims %j makes of %j %j', (fit, dims, given, made) => {
  const before = tensor(...given);
  const { shape, buffer } = fitBatch({ fit, dims }, before);
  expect([shape, buffer === before.buffer]).toEqual([made, true]);
});

it.each([10, 5000])('keeps a copy of %d bytes, but for what lies in the memory of a request', (bytes) => {
  const memory = new Uint8Array(bytes + 2).fill(7);
  const made = new Tensor('UINT8', [bytes], memory, 1, bytes + 1);
  const kept = keepTensor(made, new Map([['X', tensor(3)]]));
  memory.fill(0);
  expect([kept.shape, kept.byteLength, kept.bytes.every((byte) => byte === 7)]).toEqual([[bytes], bytes, true]);
  expect(keepTensor(made, new Map([['X', new Tensor('UINT8', [1], memory, 0, 1)]]))).toBe(made);
});
