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

  it.each([0, 1, 2, 3, 4, 5, 6])('gives out all others in order when one leaves from anywhere: %d', (index) => {
    for (const due of [
      [1, 10, 2, 20, 21, 3, 4],
      [1, 5, 2, 6, 7, 3, 9],
    ]) {
      const deadlines = new Deadlines<Due>();
      const items = [...due, 30, 31, 32, 33].map((dueMs, order): Due => ({ dueMs, order, at: -1 }));
      const leaving = items[index];
      for (const item of items.slice(0, 7)) deadlines.add(item);
      if (leaving !== undefined) deadlines.remove(leaving);
      for (const item of items.slice(7)) deadlines.add(item);
      const order: (number | undefined)[] = [];
      for (let { first } = deadlines; first !== undefined; first = deadlines.first) {
        order.push(first.dueMs);
        deadlines.remove(first);
      }
      const left = items.filter((item) => item !== leaving).map(({ dueMs }) => dueMs);
      expect(order).toEqual(left.toSorted((a, b) => a - b));
    }
  });
});
