import { describe, expect, it } from 'vitest';
import { concatInto } from '../../../src/streams/tensors/concat.ts';
import { MissingRowsError, splitRows } from '../../../src/streams/tensors/split.ts';
import { Tensor } from '../../../src/streams/tensors/tensor.ts';
import { tensorFrom } from '../../../src/streams/tensors/tensor-from-values.ts';
import { tensorStrings } from '../../../src/streams/tensors/tensor-values.ts';

describe('splitRows', () => {
  it('walks strings of varied length', () => {
    const tensor = tensorFrom('BYTES', [3, 2], ['a', 'bb', '', 'dddd', 'e', 'ff']);
    expect(splitRows(tensor, [1, 2]).map(tensorStrings)).toEqual([
      ['a', 'bb'],
      ['', 'dddd', 'e', 'ff'],
    ]);
  });

  it('gives the tensor itself to a lone request', () => {
    const tensor = tensorFrom('INT8', [2], [1, 2]);
    expect(splitRows(tensor, [2])[0]).toBe(tensor);
  });

  it('leaves rows out that nobody asked for', () => {
    expect(splitRows(tensorFrom('INT8', [4], [1, 2, 3, 4]), [1, 2]).map(({ bytes }) => [...bytes])).toEqual([[1], [2, 3]]);
  });

  it('says how many rows it wanted and got', () => {
    expect(() => splitRows(tensorFrom('INT8', [2, 1], [1, 2]), [1, 2])).toThrow(new MissingRowsError(3, 2));
    expect(() => splitRows(tensorFrom('INT8', [], [1]), [1])).toThrow(new MissingRowsError(1, 0));
  });

  it('refuses strings that are cut off', () => {
    expect(() => splitRows(new Tensor('BYTES', [2], new Uint8Array([1, 0, 0, 0])), [1, 1])).toThrow('expected 1 string elements, got 0');
  });
});

describe('concatInto', () => {
  it('writes nothing where not everything fits', () => {
    const target = Buffer.alloc(5);
    const tensors = [tensorFrom('INT8', [3], [1, 2, 3]), tensorFrom('INT8', [2], [4, 5])];
    expect(() => concatInto(target, 1, tensors)).toThrow('5 bytes do not fit at 1 in a buffer of 5');
    expect([...target]).toEqual([0, 0, 0, 0, 0]);
    expect(concatInto(target, 0, tensors)).toBe(5);
    expect([...target]).toEqual([1, 2, 3, 4, 5]);
  });
});
