import { describe, expect, it } from 'vitest';
import { cacheKeys, largestKeyBytes } from '../../../src/operators/cache/cache-keys.ts';
import type { RequestKey } from '../../../src/operators/cache/request-key.ts';
import type { InferRequest } from '../../../src/streams/inference/request.ts';
import { Tensor } from '../../../src/streams/tensors/tensor.ts';
import { makeInput, makeSpec } from '../../support/model.ts';
import { inferRequest } from '../../support/request-fixtures.ts';

const outputs = ['A', 'B'].map((name) => ({ name, datatype: 'FP32' as const, dims: [1], reshape: undefined, labels: [] }));
const spec = makeSpec({ inputs: [makeInput({ name: 'X' }), makeInput({ name: 'Y' })], outputs });
const keyOf = cacheKeys({ spec, contentId: 'c' });

const bytes = Buffer.from(Array.from({ length: 16 }, (_, n) => n));
const eight = new Tensor('UINT8', [2, 8], bytes);

const key = (request: InferRequest): RequestKey => {
  const made = keyOf(request);
  if (made === undefined) throw new Error('no key');
  return made;
};

const plain = key(inferRequest({ X: eight }));

const withOutputs = (...asked: readonly (readonly [string, number])[]): InferRequest =>
  inferRequest({ X: eight }, { outputs: asked.map(([name, classification]) => ({ name, classification })) });

const withParameters = (...parameters: readonly (readonly [string, string | boolean | bigint | number])[]): InferRequest =>
  inferRequest({ X: eight }, { parameters: new Map(parameters) });

describe('cacheKeys', () => {
  it.each<[string, InferRequest]>([
    ['another shape over the same bytes', inferRequest({ X: new Tensor('UINT8', [4, 4], bytes) })],
    ['another datatype over the same bytes', inferRequest({ X: new Tensor('INT8', [2, 8], bytes) })],
    ['another byte', inferRequest({ X: new Tensor('UINT8', [2, 8], Buffer.from(bytes).fill(9, 15)) })],
    ['another input', inferRequest({ Y: eight })],
    ['one input more', inferRequest({ X: eight, Y: new Tensor('UINT8', [0], Buffer.alloc(0)) })],
    ['a parameter', withParameters(['p', 1n])],
    ['some of the outputs', withOutputs(['A', 0])],
    ['classes of an output', withOutputs(['A', 0], ['B', 3])],
  ])('tells %s apart', (_, request) => {
    const other = key(request);
    expect(other.digest).not.toBe(plain.digest);
    expect(other.equals(plain.head, plain.copyInputs())).toBe(false);
    expect(other.matches(plain)).toBe(false);
  });

  it('tells values of parameters apart by their kind, and by their last bit', () => {
    const values = [1n, 1, '1', true, 'true', 0, -0, Number.NaN, 'NaN', '', '\ud800', '\udfff', '\ufffd'];
    const digests = values.map((value) => key(withParameters(['p', value])).digest);
    expect(new Set(digests).size).toBe(values.length);
    const split = [withParameters(['p', 'a'], ['q', 'b']), withParameters(['p', 'a,q,b']), withParameters(['p', 'a"'], ['q', 'b'])];
    expect(new Set(split.map((request) => key(request).digest)).size).toBe(split.length);
  });

  it.each<[string, InferRequest, InferRequest]>([
    [
      'who asks',
      inferRequest({ X: eight }),
      inferRequest({ X: eight }, { id: 'b', priority: 3n, timeoutMicroseconds: 4n, sequenceId: 5n }),
    ],
    ['the order of inputs', inferRequest({ X: eight, Y: eight }), inferRequest({ Y: eight, X: eight })],
    ['the order of parameters', withParameters(['p', 1n], ['q', 2n]), withParameters(['q', 2n], ['p', 1n])],
    ['the order of outputs', withOutputs(['A', 1], ['B', 0]), withOutputs(['B', 0], ['A', 1])],
    ['an output that is named again', withOutputs(['A', 1]), withOutputs(['A', 1], ['A', 2])],
    ['naming every output', inferRequest({ X: eight }), withOutputs(['B', 0], ['A', 0])],
    [
      'where a tensor lies',
      inferRequest({ X: eight }),
      inferRequest({ X: new Tensor('UINT8', [2, 8], Buffer.concat([bytes, bytes]), 16, 32) }),
    ],
  ])('does not look at %s', (_, one, other) => {
    expect(key(one).digest).toBe(key(other).digest);
    expect(key(other).equals(key(one).head, key(one).copyInputs())).toBe(true);
    expect(key(other).matches(key(one))).toBe(true);
  });

  it.each([
    ['model', { spec: { ...spec, name: 'n' }, contentId: 'c' }],
    ['version', { spec: { ...spec, version: '2' }, contentId: 'c' }],
    ['content', { spec, contentId: 'd' }],
  ])('tells one %s from another', (_, config) => {
    expect(cacheKeys(config)(inferRequest({ X: eight }))?.digest).not.toBe(plain.digest);
  });

  it('compares every byte, whatever the digest says', () => {
    const kept = plain.copyInputs();
    expect(plain.equals(plain.head, kept)).toBe(true);
    for (const at of [0, 7, 15]) {
      const other = Buffer.from(kept);
      other[at] = 99;
      expect(plain.equals(plain.head, other)).toBe(false);
    }
    expect(plain.equals(plain.head, kept.subarray(1))).toBe(false);
    expect(plain.equals(`${plain.head} `, kept)).toBe(false);
  });

  it('makes none for more than it may compare', () => {
    const wide = (width: number) => inferRequest({ X: new Tensor('UINT8', [width], Buffer.alloc(width)) });
    const room = largestKeyBytes - key(wide(largestKeyBytes - 200)).head.length;
    expect(keyOf(wide(room))).toBeDefined();
    expect(keyOf(wide(room + 1))).toBeUndefined();
    expect(keyOf(withParameters(['p', 'x'.repeat(largestKeyBytes)]))).toBeUndefined();
  });
});
