import { describe, expect, it } from 'vitest';
import { BodyMemory } from '../../../src/frontends/http/body-memory.ts';

describe('BodyMemory', () => {
  it('lends a buffer again that came back', () => {
    const memory = new BodyMemory();
    const buffer = memory.take(100_000);
    expect(buffer.byteLength).toBeGreaterThanOrEqual(100_000);
    memory.give(buffer);
    expect(memory.take(90_000)).not.toBe(undefined);
    expect(memory.heldBytes).toBeGreaterThanOrEqual(90_000);
  });

  it('lends one of the same size class, and no other', () => {
    const memory = new BodyMemory();
    const buffer = memory.take(1_000_000);
    memory.give(buffer);
    expect(memory.take(200_000)).not.toBe(buffer);
    expect(memory.take(999_999)).toBe(buffer);
  });

  it('does not lend a forgotten buffer again', () => {
    const memory = new BodyMemory();
    const buffer = memory.take(1_000_000);
    memory.forget(buffer);
    expect(memory.heldBytes).toBe(0);
    expect(memory.take(1_000_000)).not.toBe(buffer);
  });

  it('refuses what is past its limit, until something comes back', () => {
    const memory = new BodyMemory(1_000_000);
    const buffer = memory.take(700_000);
    expect(() => memory.take(700_000)).toThrow(expect.objectContaining({ code: 'UNAVAILABLE' }));
    memory.give(buffer);
    expect(memory.take(700_000)).toBe(buffer);
  });

  it('wastes at most half of what was asked for', () => {
    for (const size of [65_536, 65_537, 98_304, 98_305, 1_048_700, 16_777_216, 16_777_217]) {
      const memory = new BodyMemory();
      expect(memory.take(size).byteLength).toBeGreaterThanOrEqual(size);
      expect(memory.heldBytes).toBeLessThanOrEqual(size * 1.5);
    }
  });
});
