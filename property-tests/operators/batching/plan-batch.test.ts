import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { BatchLimits, WaitingRequest } from '../../../src/operators/batching/plan-batch.ts';
import { planBatch } from '../../../src/operators/batching/plan-batch.ts';
import type { Plan } from '../../../src/streams/flow/buffer-when-free.ts';
import { propertyParameters } from '../../parameters.ts';

/** The rule once more, said in sets instead of steps. */
const planBySets = (limits: BatchLimits, waiting: readonly WaitingRequest[], nowMs: number): Plan => {
  const { maxBatchSize, preferredBatchSizes, maxQueueDelayMs } = limits;
  const rowsOf = (count: number): number => waiting.slice(0, count).reduce((sum, { rows }) => sum + rows, 0);
  const counts = waiting.map((_, index) => index + 1);
  const fits = (count: number): boolean =>
    count === 1 || (rowsOf(count) <= maxBatchSize && waiting.slice(0, count).every(({ shapeKey }) => shapeKey === waiting[0]?.shapeKey));
  const longest = Math.max(...counts.filter((count) => counts.slice(0, count).every(fits)));
  const within = counts.slice(0, longest);
  const maxPreferred = Math.max(...preferredBatchSizes);
  const hit = within.findLast((count) => preferredBatchSizes.includes(rowsOf(count)));
  const lastBefore = within.find((count) => count < waiting.length && rowsOf(count + 1) > maxPreferred);
  const best = hit ?? lastBefore;
  const dueMs = Math.min(...within.map((count) => waiting[count - 1]?.arrivedMs ?? 0)) + maxQueueDelayMs;

  if (maxQueueDelayMs > 0 && nowMs >= dueMs) return { take: longest };
  if (best !== undefined) return { take: best };
  if (maxQueueDelayMs === 0 || longest < waiting.length || rowsOf(longest) >= maxPreferred) return { take: longest };
  return { waitMs: dueMs - nowMs };
};

const limits: fc.Arbitrary<BatchLimits> = fc
  .record({
    maxBatchSize: fc.integer({ min: 1, max: 10 }),
    sizes: fc.uniqueArray(fc.integer({ min: 1, max: 10 }), { minLength: 1, maxLength: 3 }),
    maxQueueDelayMs: fc.constantFrom(0, 3, 7.5),
  })
  .map(({ sizes, ...rest }) => ({
    ...rest,
    preferredBatchSizes: [...new Set(sizes.map((size) => Math.min(size, rest.maxBatchSize)))].sort((a, b) => a - b),
  }));

const request: fc.Arbitrary<WaitingRequest> = fc.record({
  rows: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 10 })),
  shapeKey: fc.oneof({ weight: 5, arbitrary: fc.constant('a') }, { weight: 1, arbitrary: fc.constant('b') }),
  arrivedMs: fc.integer({ min: 0, max: 10 }),
});

// Mutants that it kills, each tried: `>=` for `>` at the maximum, no look at the shape, the newest for the oldest arrival, the first hit for the
// last, a size that exceeds the largest preferred one though a preferred one was met, preferred sizes that still count after the delay. (`>=` for
// `>` at the largest preferred size changes nothing: that size is a hit.)
it('plans by the same rule however it is said', () => {
  fc.assert(
    fc.property(limits, fc.array(request, { minLength: 1, maxLength: 12 }), fc.integer({ min: 10, max: 20 }), (limits, waiting, nowMs) => {
      const fitting = waiting.map((one) => ({ ...one, rows: Math.min(one.rows, limits.maxBatchSize) }));
      expect(planBatch(limits)(fitting, nowMs)).toEqual(planBySets(limits, fitting, nowMs));
    }),
    propertyParameters(),
  );
});
