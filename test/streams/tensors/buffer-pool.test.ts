import { describe, expect, it } from 'vitest';
import { BufferPool, pooledCapacity } from '../../../src/streams/tensors/buffer-pool.ts';

describe('BufferPool', () => {
  it('lends a buffer again that came back, to whoever needs one of its size', () => {
    const pool = new BufferPool(10_000_000);
    const buffer = pool.take(1_000_000);
    expect(pool.take(1_000_000) === buffer).toBe(false);
    pool.give(buffer);
    expect(pool.take(200_000) === buffer).toBe(false);
    expect(pool.take(999_999) === buffer).toBe(true);
    expect(pool.take(999_999) === buffer).toBe(false);
  });

  it('keeps no more than its limit, nor what is too small or too large to be worth it', () => {
    const pool = new BufferPool(3_000_000);
    const buffers = [pool.take(1_000_000), pool.take(1_000_000), pool.take(1_000_000)];
    for (const buffer of buffers) pool.give(buffer);
    const again = buffers.map(() => pool.take(1_000_000));
    expect(buffers.filter((buffer) => again.includes(buffer)).length).toBe(2);
    for (const size of [1000, 17 * 2 ** 20]) {
      const other = pool.take(size);
      pool.give(other);
      expect(pool.take(size) === other).toBe(false);
    }
  });

  it('gives small buffers as they are asked for', () => {
    expect(new BufferPool(0).take(1000).length).toBe(1000);
    expect(pooledCapacity(65_535)).toBe(65_535);
    expect(pooledCapacity(65_537)).toBe(98_304);
  });
});
