import { describe, expect, it } from 'vitest';
import { GrowingMemory } from '../../../src/backends/workers/growing-memory.ts';

describe('GrowingMemory', () => {
  it('is replaced when it is too small, and kept while it fits', () => {
    const memory = new GrowingMemory();
    const first = memory.shared;
    expect([memory.fit(0), memory.fit(4096), memory.shared === first]).toEqual([false, false, true]);
    expect([memory.fit(4097), memory.shared.byteLength]).toEqual([true, 8192]);
    expect([memory.fit(8192), memory.fit(1_000_000), memory.shared.byteLength]).toEqual([false, true, 2 ** 20]);
  });

  it('gives a large size up when a thousand batches have needed little, and then fits what comes', () => {
    const memory = new GrowingMemory();
    memory.fit(2 ** 20);
    const sizes = new Set<number>();
    for (let batch = 0; batch < 3000; batch++) {
      memory.fit(5000);
      sizes.add(memory.shared.byteLength);
    }
    expect([...sizes]).toEqual([2 ** 20, 8192]);
  });

  it('keeps a size that is needed now and then', () => {
    const memory = new GrowingMemory();
    let replaced = 0;
    for (let batch = 0; batch < 5000; batch++) if (memory.fit(batch % 500 === 0 ? 2 ** 20 : 10)) replaced++;
    expect(replaced).toBe(1);
  });
});
