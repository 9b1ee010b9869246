import { describe, expect, it } from 'vitest';
import { RequestKey } from '../../../src/operators/cache/request-key.ts';
import { Tensor } from '../../../src/streams/tensors/tensor.ts';

const bytes = (...values: number[]): Tensor => new Tensor('UINT8', [values.length], Uint8Array.from(values));

const keyOf = (head: string, ...tensors: Tensor[]): RequestKey =>
  new RequestKey(
    head,
    tensors,
    tensors.reduce((sum, { byteLength }) => sum + byteLength, 0),
  );

/** As if SHA-256 had given it the digest of another. */
const colliding = (key: RequestKey, other: RequestKey): RequestKey => Object.assign(key, { digest: other.digest, hash: other.hash });

describe('RequestKey', () => {
  it('matches a request that asks the same, wherever its tensors lie', () => {
    const around = Uint8Array.from([9, 1, 2, 9]);
    const key = keyOf('h', bytes(1, 2), bytes(3));
    expect(key.matches(keyOf('h', new Tensor('UINT8', [2], around, 1, 3), bytes(3)))).toBe(true);
    expect(key.matches(keyOf('h', bytes(1, 2), bytes(4)))).toBe(false);
    expect(key.matches(keyOf('other', bytes(1, 2), bytes(3)))).toBe(false);
  });

  it('looks at every byte where the digests are the same', () => {
    const key = keyOf('h', bytes(1, 2), bytes(3));
    const others = [
      keyOf('other', bytes(1, 2), bytes(3)),
      keyOf('h', bytes(0, 2), bytes(3)),
      keyOf('h', bytes(1, 2), bytes(4)),
      keyOf('h'),
    ];
    expect(others.map((other) => key.matches(colliding(other, key)))).toEqual([false, false, false, false]);
  });

  it('equals a copy of its inputs under the same head, and nothing else', () => {
    const key = keyOf('h', bytes(1, 2), bytes(3));
    const inputs = key.copyInputs();
    expect([...inputs]).toEqual([1, 2, 3]);
    expect([key.equals('h', inputs), key.equals('other', inputs)]).toEqual([true, false]);
    for (const other of [
      [0, 2, 3],
      [1, 2, 4],
      [1, 2],
      [1, 2, 3, 4],
    ])
      expect(key.equals('h', Buffer.from(other))).toBe(false);
  });

  it('looks at inputs of any size as a whole, and at heads beyond ASCII', () => {
    const large = (last: number): Tensor => new Tensor('UINT8', [200_000], new Uint8Array(200_000).fill(last, 199_999));
    const digests = [large(0), large(1)].map((tensor) => keyOf('h', tensor).digest);
    expect(new Set([...digests, keyOf('ü'.repeat(30_000), bytes(1)).digest, keyOf('ü'.repeat(30_000), bytes(2)).digest]).size).toBe(4);
    expect(keyOf('h', large(0)).digest).toBe(digests[0]);
    expect(keyOf('h', bytes(1)).hash).toBeLessThan(2 ** 32);
  });

  it('compares tensors wherever they lie', () => {
    const around = Uint8Array.from([9, 9, 1, 2, 9]);
    const key = keyOf('h', new Tensor('UINT8', [2], around, 2, 4), bytes(3));
    expect(key.equals('h', Buffer.from([1, 2, 3]))).toBe(true);
  });
});
