import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SortedList } from '../../../src/streams/flow/sorted-list.ts';
import { collectGarbage } from '../../support/collect-garbage.ts';

describe('SortedList', () => {
  it('does as a sorted array does', () => {
    const rank = fc.oneof(fc.bigInt({ min: 0n, max: 30n }), fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }));
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.constantFrom('add', 'add', 'remove', 'clear'), rank), { maxLength: 120, size: 'max' }), (steps) => {
        const list = new SortedList<{ rank: bigint }>();
        let model: { rank: bigint }[] = [];
        let clears = 0;
        for (const [what, rank] of steps) {
          const found = model.find((item) => item.rank === rank);
          if (what === 'add' && found === undefined) {
            const item = { rank };
            list.add(item);
            model = [...model, item].sort((a, b) => (a.rank < b.rank ? -1 : 1));
          } else if (what === 'remove') {
            const item = found ?? { rank };
            list.remove(item);
            list.remove(item);
            model = model.filter((other) => other !== item);
          } else if (what === 'clear' && clears++ % 8 === 7) {
            list.clear();
            model = [];
          }
          expect([...list]).toEqual(model);
          for (const near of [rank, rank + 1n]) expect(list.find(near)).toBe(model.find((item) => item.rank === near));
          expect(list.first).toBe(model[0]);
        }
      }),
    );
  });

  it('does not confuse two items of one rank', () => {
    const list = new SortedList<{ rank: bigint }>();
    const item = { rank: 5n };
    list.add(item);
    list.remove({ rank: 5n });
    expect(list.first).toBe(item);
  });

  it('finds one of 20,000 in few steps, also after as many have left', () => {
    const list = new SortedList<{ rank: bigint }>();
    let looks = 0;
    const watched = (rank: bigint) => ({
      get rank() {
        looks++;
        return rank;
      },
    });
    const items = Array.from({ length: 40_000 }, (_, n) => watched((BigInt(n) * 7919n) % 40_009n));
    for (const item of items) list.add(item);
    for (const item of items.splice(0, 20_000)) list.remove(item);
    looks = 0;
    for (let n = 0n; n < 1000n; n++) list.find(n * 40n);
    expect(looks / 1000).toBeLessThan(100);
  });

  it('keeps nothing alive that has left', async () => {
    const list = new SortedList<{ rank: bigint }>();
    const later = (): WeakRef<object> => {
      const item = { rank: 2n };
      list.add(item);
      list.remove(item);
      list.find(3n);
      return new WeakRef(item);
    };
    list.add({ rank: 1n });
    const gone = later();
    await collectGarbage();
    expect(gone.deref()).toBeUndefined();
  });
});
