import { describe, expect, it } from 'vitest';
import type { Datatype } from '../../../src/streams/tensors/datatype.ts';
import { JsonValueError } from '../../../src/streams/tensors/json-value-error.ts';
import { deepestJsonNesting, jsonValuesByteSize, readJsonValues, writeJsonValues } from '../../../src/streams/tensors/json-values.ts';
import { Tensor } from '../../../src/streams/tensors/tensor.ts';
import { type TensorValue, tensorFrom } from '../../../src/streams/tensors/tensor-from-values.ts';

const read = (datatype: Datatype, values: unknown, count: number): Tensor => {
  const into = new Uint8Array(jsonValuesByteSize(datatype, values, count));
  readJsonValues(datatype, values, count, into);
  return new Tensor(datatype, [count], into);
};

const problemOf = (act: () => unknown): string => {
  try {
    act();
  } catch (error) {
    return error instanceof JsonValueError ? `${error.problem}: ${error.message}` : String(error);
  }
  return 'none';
};

const write = (datatype: Datatype, values: readonly TensorValue[]): string =>
  writeJsonValues(tensorFrom(datatype, [values.length], values));

describe('writeJsonValues', () => {
  it.each<[Datatype, readonly TensorValue[], string]>([
    ['BOOL', [true, false], '[true,false]'],
    ['UINT8', [0, 255], '[0,255]'],
    ['INT8', [-128, 127], '[-128,127]'],
    ['UINT32', [4294967295], '[4294967295]'],
    ['INT32', [], '[]'],
    ['FP32', [], '[]'],
    ['BYTES', [], '[]'],
    [
      'INT64',
      [9007199254740993n, -9223372036854775808n, -9007199254740992n, -1n, 0n],
      '[9007199254740993,-9223372036854775808,-9007199254740992,-1,0]',
    ],
    ['UINT64', [18446744073709551615n, 9007199254740991n], '[18446744073709551615,9007199254740991]'],
    ['FP32', [0.1, 1.5], '[0.10000000149011612,1.5]'],
    ['FP64', [0.1, 1, -0, 1e21, 1e-7], '[0.1,1.0,-0.0,1e21,1e-7]'],
    ['FP32', [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 2.5], '[NaN,Infinity,-Infinity,2.5]'],
    ['BYTES', ['', '\0', 'a\0', 'ü"\\\n', '😀', '\uFFFD', '\uFEFFx'], '["","\\u0000","a\\u0000","ü\\"\\\\\\n","😀","\uFFFD","\uFEFFx"]'],
  ])('%s, row %#', (datatype, values, text) => {
    expect(write(datatype, values)).toBe(text);
  });

  it('joins its chunks of floats, plain and odd ones', () => {
    const values = Array.from({ length: 2000 }, (_, index) => (index < 1000 ? index + 0.5 : index));
    expect(JSON.parse(write('FP32', values))).toEqual(values);
  });

  it('reads a scalar, and elements in shared memory', () => {
    const shared = new Uint8Array(new SharedArrayBuffer(16));
    shared.set([3, 0, 0, 0, 0x61, 0xc3, 0xbc], 1);
    expect(writeJsonValues(new Tensor('BYTES', [], shared, 1, 8))).toBe('["aü"]');
    expect(writeJsonValues(new Tensor('INT16', [2], shared, 1, 5))).toBe('[3,0]');
  });

  it('never writes invalid JSON for bytes that are no text', () => {
    expect(problemOf(() => write('BYTES', ['a', new Uint8Array([0xff, 0xfe])]))).toBe('invalid-utf8: string element 1 is not valid UTF-8');
  });

  it('refuses FP16 and BF16', () => {
    expect(problemOf(() => write('FP16', [1]))).toMatch(/^unsupported-datatype/);
    expect(problemOf(() => write('BF16', [1]))).toMatch(/^unsupported-datatype/);
  });
});

describe('readJsonValues', () => {
  it('takes lists row-major, however they are nested', () => {
    const flat = read('INT32', [1, 2, 3, 4], 4).bytes;
    expect(
      read(
        'INT32',
        [
          [1, 2],
          [3, 4],
        ],
        4,
      ).bytes,
    ).toEqual(flat);
    expect(read('INT32', [[[1], [2, 3]], 4, []], 4).bytes).toEqual(flat);
  });

  it('keeps 64-bit integers exact', () => {
    const values = [9007199254740993n, -9223372036854775808n, 5];
    expect(writeJsonValues(read('INT64', values, 3))).toBe('[9007199254740993,-9223372036854775808,5]');
    expect(writeJsonValues(read('UINT64', [18446744073709551615n], 1))).toBe('[18446744073709551615]');
  });

  it('keeps the low bits of integers that are too large', () => {
    expect(writeJsonValues(read('INT8', [300, -129, 2 ** 40 + 7, 2n ** 60n + 5n], 4))).toBe('[44,127,7,5]');
    expect(writeJsonValues(read('UINT16', [65537], 1))).toBe('[1]');
  });

  it('takes integers, wide ones too, and tokens for floating point', () => {
    expect(writeJsonValues(read('FP64', [1, 2n ** 63n, Number.NaN, Number.NEGATIVE_INFINITY], 4))).toBe(
      '[1.0,9223372036854776000.0,NaN,-Infinity]',
    );
  });

  it('writes at any alignment', () => {
    const buffer = new Uint8Array(20);
    expect(readJsonValues('FP64', [1.5, 2.5], 2, buffer.subarray(3, 19))).toBe(16);
    expect(writeJsonValues(new Tensor('FP64', [2], buffer, 3, 19))).toBe('[1.5,2.5]');
    expect([buffer[0], buffer[1], buffer[2], buffer[19]]).toEqual([0, 0, 0, 0]);
  });

  it.each<[string, Datatype, unknown]>([
    ['attempt to access JSON non-boolean as boolean', 'BOOL', [1]],
    ['attempt to access JSON non-signed-integer as signed-integer', 'INT32', [1.5]],
    ['attempt to access JSON non-signed-integer as signed-integer', 'INT8', ['1']],
    ['attempt to access JSON non-signed-integer as signed-integer', 'INT64', [null]],
    ['attempt to access JSON non-signed-integer as signed-integer', 'INT64', [2n ** 63n]],
    ['attempt to access JSON non-unsigned-integer as unsigned-integer', 'UINT32', [-1]],
    ['attempt to access JSON non-unsigned-integer as unsigned-integer', 'UINT64', [-1n]],
    ['attempt to access JSON non-unsigned-integer as unsigned-integer', 'UINT8', [true]],
    ['attempt to access JSON non-number as double', 'FP32', [null]],
    ['attempt to access JSON non-number as double', 'FP64', ['NaN']],
    ['attempt to access JSON non-string as string', 'BYTES', [5]],
    ['attempt to access JSON non-array as array', 'FP32', 5],
    ['attempt to access JSON non-array as array', 'BYTES', null],
  ])('%s, row %#', (message, datatype, values) => {
    expect(problemOf(() => read(datatype, values, 1))).toBe(`wrong-type: ${message}`);
  });

  it.each<Datatype>(['INT32', 'BYTES', 'FP32'])('counts the values of %s', (datatype) => {
    const values = datatype === 'BYTES' ? ['a', 'b', 'c'] : [1, 2, 3];
    expect(problemOf(() => read(datatype, values, 4))).toBe('too-few: expected 4 values, got 3');
    expect(problemOf(() => read(datatype, [values], 2))).toBe('too-many: expected 2 values, got more');
  });

  it('needs no more room than the values that came, whatever is claimed', () => {
    expect(jsonValuesByteSize('FP32', [1], 2_000_000_000)).toBe(4);
    expect(jsonValuesByteSize('BYTES', ['ü'], 2_000_000_000)).toBe(6);
    expect(problemOf(() => read('FP32', [1], 2_000_000_000))).toBe('too-few: expected 2000000000 values, got 1');
  });

  it('follows 100 levels and no more', () => {
    let nested: unknown = 7;
    for (let level = 0; level < deepestJsonNesting; level++) nested = [nested];
    expect(writeJsonValues(read('INT32', nested, 1))).toBe('[7]');
    expect(problemOf(() => read('INT32', [nested], 1))).toMatch(/^too-deep/);
  });

  it('never replaces half a surrogate pair', () => {
    expect(problemOf(() => read('BYTES', ['\ud800'], 1))).toMatch(/^invalid-utf8/);
  });

  it('refuses FP16, BF16 and a buffer that is too small', () => {
    expect(problemOf(() => read('FP16', [1], 1))).toMatch(/^unsupported-datatype/);
    expect(problemOf(() => read('BF16', [1], 1))).toMatch(/^unsupported-datatype/);
    expect(() => readJsonValues('FP32', [1, 2], 2, new Uint8Array(4))).toThrow(RangeError);
    expect(() => readJsonValues('BYTES', ['abc'], 1, new Uint8Array(6))).toThrow(RangeError);
  });
});
