import { Bool, Data, Int32, LargeBinary, Utf8, vectorFromArray } from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import type { Datatype } from '../../../src/streams/tensors/datatype.ts';
import { Tensor } from '../../../src/streams/tensors/tensor.ts';
import { tensorFromData } from '../../../src/streams/tensors/tensor-from-data.ts';
import { tensorFrom } from '../../../src/streams/tensors/tensor-from-values.ts';
import { tensorStrings } from '../../../src/streams/tensors/tensor-values.ts';

const firstData = (vector: { readonly data: readonly Data[] }): Data => {
  const [data] = vector.data;
  if (data === undefined) throw new Error('an empty vector');
  return data;
};

describe('Tensor.data', () => {
  it('is made once, of the classes that every importer of Arrow sees', () => {
    const tensor = tensorFrom('FP32', [2], [1, 2]);
    expect(tensor.data).toBeInstanceOf(Data);
    expect(tensor.data).toBe(tensor.data);
  });

  it.each<[Datatype, string]>([
    ['BOOL', 'Uint8'],
    ['BF16', 'Uint16'],
    ['FP16', 'Float16'],
    ['INT64', 'Int64'],
    ['BYTES', 'Binary'],
  ])('%s is %s', (datatype, type) => {
    const { data } = new Tensor(datatype, [0], new Uint8Array(0));
    expect(String(data.type)).toBe(type);
    expect(data.length).toBe(0);
  });

  it('shares an aligned buffer, shared memory included, and copies another', () => {
    const buffer = new Uint8Array(new SharedArrayBuffer(32));
    expect(new Tensor('FP32', [2], buffer, 8, 16).data.values.buffer).toBe(buffer.buffer);
    expect(new Tensor('FP32', [2], buffer, 9, 17).data.values.buffer).not.toBe(buffer.buffer);
  });

  it('refuses BYTES that are not what the shape says', () => {
    const dataOf = (count: number, bytes: readonly number[]): unknown => new Tensor('BYTES', [count], new Uint8Array(bytes)).data;
    expect(() => dataOf(2, [1, 0, 0, 0, 9])).toThrow('expected 2 string elements, got 1');
    expect(() => dataOf(1, [1, 0, 0, 0, 9, 0, 0, 0, 0])).toThrow('expected 1 string elements, got more');
    expect(() => dataOf(2, [1, 0, 0, 0, 9, 0])).toThrow('expected 2 string elements, got one cut off at byte 5');
    expect(() => dataOf(1, [255, 255, 255, 255, 9])).toThrow('expected 1 string elements, got one cut off at byte 0');
  });
});

describe('tensorFromData', () => {
  it('shares the column', () => {
    const data = tensorFrom('INT32', [4], new Int32Array([1, 2, 3, 4])).data;
    const tensor = tensorFromData('INT32', [2, 2], data);
    expect(tensor.buffer.buffer).toBe(data.values.buffer);
    expect(tensor.shape).toEqual([2, 2]);
  });

  it('takes text, long columns and packed booleans, slices of them too', () => {
    const text = firstData(vectorFromArray(['a', '', 'ü', 'd'], new Utf8())).slice(1, 2);
    expect(tensorStrings(tensorFromData('BYTES', [2], text))).toEqual(['', 'ü']);
    const large = firstData(vectorFromArray([Buffer.from('x\0'), Buffer.from('yz')], new LargeBinary()));
    expect(tensorStrings(tensorFromData('BYTES', [2], large))).toEqual(['x\0', 'yz']);
    const bits = Array.from({ length: 20 }, (_, index) => index % 3 === 0);
    const packed = firstData(vectorFromArray(bits, new Bool())).slice(7, 11);
    expect(tensorFromData('BOOL', [11], packed).bytes).toEqual(Uint8Array.from(bits.slice(7, 18), Number));
  });

  it('refuses nulls, another type and another length', () => {
    const column = firstData(vectorFromArray([1, null, 3], new Int32()));
    expect(() => tensorFromData('INT32', [3], column)).toThrow('a tensor holds no nulls, got 1');
    const whole = firstData(vectorFromArray([1, 2, 3], new Int32()));
    expect(() => tensorFromData('FP32', [3], whole)).toThrow('expected an Arrow column of Float32 for FP32, got Int32');
    expect(() => tensorFromData('BYTES', [3], whole)).toThrow('expected an Arrow column of Binary for BYTES, got Int32');
    expect(() => tensorFromData('INT32', [2], whole)).toThrow('expected 2 elements for shape [2], got 3');
    expect(() => tensorFromData('INT32', [-1], whole)).toThrow('non-negative integers');
  });
});
