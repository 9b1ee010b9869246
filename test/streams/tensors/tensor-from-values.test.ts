import { describe, expect, it } from 'vitest';
import { tensorFrom } from '../../../src/streams/tensors/tensor-from-values.ts';
import { tensorStrings, tensorValues } from '../../../src/streams/tensors/tensor-values.ts';

describe('tensorFrom', () => {
  it('shares a typed array of its own kind and converts others', () => {
    const floats = new Float32Array([1, 2.5]);
    expect(tensorFrom('FP32', [2], floats).buffer.buffer).toBe(floats.buffer);
    expect(tensorValues(tensorFrom('INT16', [3], new Int32Array([-1, 0, 32767])))).toEqual(new Int16Array([-1, 0, 32767]));
    expect(tensorValues(tensorFrom('FP16', [2], new Uint16Array([0x3c00, 0xc000])))).toEqual(new Float32Array([1, -2]));
    expect(tensorValues(tensorFrom('BF16', [2], new Float32Array([1, 0.01])))).toEqual(new Float32Array([1, 0.010009765625]));
  });

  it('makes scalars and tensors of nothing', () => {
    expect(tensorValues(tensorFrom('FP64', [], [7]))).toEqual(new Float64Array([7]));
    expect(tensorFrom('BYTES', [0, 3], []).byteLength).toBe(0);
    expect(() => tensorFrom('FP64', [], [])).toThrow('expected 1 values for shape [], got 0');
  });

  it('keeps every byte of strings', () => {
    const elements = ['', '\0', 'a\0', '😀', 'x'.repeat(100_000)];
    expect(tensorStrings(tensorFrom('BYTES', [5], elements))).toEqual(elements);
    const odd = tensorFrom('BYTES', [1], [new Uint8Array([0xff, 0xfe])]);
    expect([...tensorValues(odd)]).toEqual([Buffer.from([0xff, 0xfe])]);
    expect(() => tensorStrings(odd)).toThrow(TypeError);
    expect(() => tensorStrings(tensorFrom('INT8', [1], [1]))).toThrow('expected BYTES, got INT8');
  });

  it.each([
    ['expected 2 values for shape [2], got 3', () => tensorFrom('INT32', [2], [1, 2, 3])],
    ['non-negative integers with a product below 2^53, got [-1]', () => tensorFrom('INT32', [-1], [])],
    ['non-negative integers with a product below 2^53, got [0.5,2]', () => tensorFrom('INT32', [0.5, 2], [1])],
    ['non-negative integers with a product below 2^53', () => tensorFrom('INT32', [2 ** 40, 2 ** 40], [1])],
    ['number 128 at index 1 is out of the range of INT8', () => tensorFrom('INT8', [2], [0, 128])],
    ['number -1 at index 0 is out of the range of UINT32', () => tensorFrom('UINT32', [1], [-1])],
    ['bigint 18446744073709551616 at index 0 is out of the range of UINT64', () => tensorFrom('UINT64', [1], [2n ** 64n])],
    ['expected an integer for INT32 at index 0, got number 1.5', () => tensorFrom('INT32', [1], [1.5])],
    ['expected a bigint or a safe integer for INT64 at index 0, got number 9007199254740992', () => tensorFrom('INT64', [1], [2 ** 53])],
    ['expected a boolean for BOOL at index 0, got number 1', () => tensorFrom('BOOL', [1], [1])],
    ['expected a number for FP32 at index 0, got string 1', () => tensorFrom('FP32', [1], ['1'])],
    ['expected a number for FP32 at index 0, got a Uint8Array', () => tensorFrom('FP32', [1], [new Uint8Array(1)])],
    ['expected a number for FP32 at index 0, got null', () => tensorFrom('FP32', [1], JSON.parse('[null]'))],
    ['expected a number for FP32 at index 0, got an array', () => tensorFrom('FP32', [1], JSON.parse('[[1]]'))],
    ['expected a number for FP32 at index 0, got an object', () => tensorFrom('FP32', [1], JSON.parse('[{}]'))],
    ['expected a string or Uint8Array for BYTES at index 0, got number 1', () => tensorFrom('BYTES', [1], [1])],
    ['the string at index 0 holds half of a surrogate pair', () => tensorFrom('BYTES', [1], ['\udc00'])],
  ])('%s', (message, act) => {
    expect(act).toThrow(message);
  });
});
