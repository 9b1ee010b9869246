import { describe, expect, it } from 'vitest';
import { Arena, type Block, sizeClass } from '../../../src/backends/python/arena.ts';
import { InferError } from '../../../src/streams/inference/error.ts';

const mebibyte = 2 ** 20;

const makeArena = (mostBytes = Number.POSITIVE_INFINITY) => {
  const made: number[] = [];
  const dropped: number[] = [];
  const released: number[] = [];
  let total = 0;
  const arena = new Arena({
    firstBytes: mebibyte,
    growthBytes: mebibyte,
    create: (segment, size) => {
      if (total + size > mostBytes) throw new InferError('INTERNAL', 'full');
      total += size;
      made.push(size / mebibyte);
      return { buffer: Buffer.alloc(0), release: () => released.push(segment) };
    },
    dropped: (segment) => dropped.push(segment),
  });
  return { arena, made, dropped, released };
};

const rangeOf = ({ segment, offset, size }: Block): readonly [number, number, number] => [segment.id, offset, offset + size];

const overlap = (a: Block, b: Block): boolean => a.segment === b.segment && a.offset < b.offset + b.size && b.offset < a.offset + a.size;

describe('the memory that a process is lent blocks of', () => {
  it('rounds sizes up by at most a quarter', () => {
    for (const size of [1, 511, 512, 513, 1000, 4096, 65_537, 8 * mebibyte + 200, 3_000_000_017]) {
      const rounded = sizeClass(size);
      expect(rounded).toBeGreaterThanOrEqual(size);
      expect(rounded).toBeLessThanOrEqual(Math.max(512, size * 1.25));
      expect(sizeClass(rounded)).toBe(rounded);
      expect(rounded % 64).toBe(0);
    }
  });

  it('lends no byte twice, and lends again what came back', () => {
    const { arena, made } = makeArena();
    const lent: Block[] = [];
    for (let n = 0; n < 3000; n++) {
      const block = arena.take(1 + ((n * 7919) % 20_000));
      for (const other of lent) expect(overlap(block, other)).toBe(false);
      lent.push(block);
      if (lent.length > 40) for (const { id } of lent.splice(n % 20, 20)) arena.give(id);
    }
    expect(made.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(4);
  });

  it('uses an empty segment anew when no block of the wanted size is free', () => {
    const { arena, made } = makeArena();
    const first = arena.take(600_000);
    arena.give(first.id);
    const second = arena.take(500_000);
    arena.give(second.id);
    expect(rangeOf(arena.take(600_000))).toEqual(rangeOf(first));
    expect(made).toEqual([1]);
  });

  it('begins with a small segment, and gives a large one back that nothing needs any more', () => {
    const { arena, made, dropped, released } = makeArena();
    arena.give(arena.take(30 * mebibyte).id);
    expect(made).toEqual([1, 32]);
    for (let n = 0; n < 2100; n++) arena.give(arena.take(1000).id);
    expect([dropped, released, arena.sizeBytes]).toEqual([[1], [1], mebibyte]);
  });

  it('takes no more than it needs when there is no more, and says when there is nothing', () => {
    const { arena, made } = makeArena(3 * mebibyte);
    arena.take(mebibyte);
    arena.take(mebibyte);
    arena.take(mebibyte);
    // The third asked for as much as there was by then.
    expect(made).toEqual([1, 1, 1]);
    expect(() => arena.take(1)).toThrow('full');
  });

  it('leaves alone what is given back twice or was never lent', () => {
    const { arena } = makeArena();
    const block = arena.take(100);
    arena.give(block.id);
    arena.give(block.id);
    arena.give(99);
    arena.give(0);
    expect(overlap(arena.take(100), arena.take(100))).toBe(false);
  });

  it('releases everything in the end', () => {
    const { arena, released } = makeArena();
    arena.take(100);
    arena.take(3 * mebibyte);
    arena.release();
    expect(released).toEqual([0, 1]);
  });
});
