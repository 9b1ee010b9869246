import { describe, expect, it } from 'vitest';
import { planSlots, type SlotLimits } from '../../../src/operators/sequences/plan-slots.ts';

interface Row {
  readonly rows: number;
  readonly arrivedMs: number;
  readonly shapeKey: string;
}

/** A letter per slot: its shape, or `.` for none; all arrived at 0 unless told. */
const slots = (text: string, arrivedMs: readonly number[] = []): { readonly next: Row | undefined }[] =>
  [...text].map((shape, index) => ({
    next: shape === '.' ? undefined : { rows: 1, arrivedMs: arrivedMs[index] ?? 0, shapeKey: shape },
  }));

const plan = (text: string, limits: Partial<SlotLimits> = {}, nowMs = 0, arrivedMs: readonly number[] = []): string => {
  const planned = planSlots({ maxQueueDelayMs: 0, minimumSlotUtilization: 0, ...limits })(slots(text, arrivedMs), nowMs);
  if ('waitMs' in planned) return `wait ${planned.waitMs}`;
  return `${planned.rows.map((row) => row?.shapeKey ?? '.').join('')} like ${planned.representative}`;
};

describe('planSlots', () => {
  it.each([
    ['....', 'wait Infinity'],
    ['a...', 'a like 0'],
    ['..a.', '..a like 2'],
    ['a.a.', 'a.a like 0'],
    ['aaaa', 'aaaa like 0'],
    // Others than the lowest one's shape have to wait; behind the last row that runs nothing is filled up.
    ['abab', 'a.a like 0'],
    ['.baa', '.b like 1'],
    ['abbb', 'a like 0'],
  ])('of %s takes %s', (text, expected) => expect(plan(text)).toBe(expected));

  const waiting = { maxQueueDelayMs: 10, minimumSlotUtilization: 0.5 };

  it.each([
    ['too few', 'a...', waiting, 0, [], 'wait 10'],
    ['the rest of the delay', 'a...', waiting, 4, [1], 'wait 7'],
    ['from the oldest on', 'aaa.....', { ...waiting, minimumSlotUtilization: 0.75 }, 4, [3, 2, 4], 'wait 8'],
    ['enough', 'a.a.', waiting, 0, [], 'a.a like 0'],
    ['enough with another shape', 'ab..', waiting, 0, [], 'a like 0'],
    ['the end of the delay', 'a...', waiting, 10, [], 'a like 0'],
    ['a delay without minimum', 'a...', { ...waiting, minimumSlotUtilization: 0 }, 0, [], 'a like 0'],
    ['a minimum without delay', 'a...', { ...waiting, maxQueueDelayMs: 0 }, 0, [], 'a like 0'],
  ])('waits for a share of the slots: %s', (_, text, limits, nowMs, arrivedMs, expected) => {
    expect(plan(text, limits, nowMs, arrivedMs)).toBe(expected);
  });

  it('does not fall short of the end of a delay by a rounding error', () => {
    const nowMs = 0.1 + 0.2;
    expect(plan('a...', { maxQueueDelayMs: nowMs - 0.1, minimumSlotUtilization: 1 }, nowMs, [0.1])).toBe('a like 0');
    expect(plan('a...', waiting, 1e9 + 10 - 1e-7, [1e9])).toBe('a like 0');
  });
});
