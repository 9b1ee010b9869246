import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Due } from '../../../src/streams/flow/deadlines.ts';
import { Deadlines } from '../../../src/streams/flow/deadlines.ts';

describe('Deadlines', () => {
  it('does as a sorted array does, whatever leaves it and from where', () => {
    const step = fc.oneof(
      { weight: 60, arbitrary: fc.record({ add: fc.nat(9) }) },
      { weight: 20, arbitrary: fc.record({ remove: fc.nat(40) }) },
      { weight: 20, arbitrary: fc.constant('first' as const) },
      { weight: 1, arbitrary: fc.constant('clear' as const) },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80, size: 'max' }), (steps) => {
        const deadlines = new Deadlines<Due>();
        let model: Due[] = [];
        const all: Due[] = [];
        const leave = (item: Due | undefined): void => {
          if (item === undefined) return;
          deadlines.remove(item);
          model = model.filter((other) => other !== item);
        };
        for (const step of steps) {
          if (step === 'clear') {
            deadlines.clear();
            model = [];
          } else if (step === 'first') {
            leave(deadlines.first);
          } else if ('add' in step) {
            const item = { dueMs: step.add, order: all.length, at: -1 };
            all.push(item);
            model.push(item);
            deadlines.add(item);
          } else {
            leave(all[step.remove]);
          }
          const [first] = model.toSorted((a, b) => a.dueMs - b.dueMs || a.order - b.order);
          expect(deadlines.first).toBe(first);
          for (const item of all) expect(item.at >= 0).toBe(model.includes(item));
        }
      }),
    );
  });

  it('brings up what takes the place of one that leaves from another branch', () => {
    const deadlines = new Deadlines<Due>();
    const items = [1, 10, 2, 11, 12, 3].map((dueMs, order): Due => ({ dueMs, order, at: -1 }));
    for (const item of items) deadlines.add(item);
    const leaving = items[3];
    if (leaving !== undefined) deadlines.remove(leaving);
    const order: (number | undefined)[] = [];
    for (let { first } = deadlines; first !== undefined; first = deadlines.first) {
      order.push(first.dueMs);
      deadlines.remove(first);
    }
    expect(order).toEqual([1, 2, 3, 10, 12]);
  });
});
