import { describe, expect, it } from 'vitest';
import type { WaitingRequest } from '../../../src/operators/batching/plan-batch.ts';
import { planBatch, planSingle } from '../../../src/operators/batching/plan-batch.ts';
import type { Plan } from '../../../src/streams/flow/buffer-when-free.ts';

interface Row {
  readonly what: string;
  readonly max?: number;
  readonly preferred?: readonly number[];
  readonly delayMs?: number;
  /** Rows of each request that waits; a letter is its shape, `@` the time of its arrival: `2b@5`. */
  readonly waiting: string;
  readonly nowMs?: number;
  readonly plan: Plan;
}

const parse = (waiting: string) =>
  waiting.split(' ').map((text) => {
    const [, rows = '1', shapeKey = '', arrivedMs = '0'] = /^(\d+)([a-z]?)(?:@([\d.]+))?$/.exec(text) ?? [];
    return { rows: Number(rows), shapeKey, arrivedMs: Number(arrivedMs) };
  });

const rows: readonly Row[] = [
  // No delay.
  { what: 'takes all that waits', waiting: '1 1 1', plan: { take: 3 } },
  { what: 'takes up to the maximum', waiting: '1 1 1 1 1 1 1 1 1 1', plan: { take: 8 } },
  { what: 'prefers a preferred size', preferred: [4], waiting: '1 1 1 1 1', plan: { take: 4 } },
  { what: 'then takes the rest', preferred: [4], waiting: '1', plan: { take: 1 } },
  { what: 'prefers the largest within reach', preferred: [4, 6], waiting: '1 1 1 1 1 1 1', plan: { take: 6 } },
  { what: 'takes fewer than any preferred size', preferred: [4, 6], waiting: '1 1 1', plan: { take: 3 } },
  { what: 'looks past the largest preferred size only for another hit', preferred: [4], waiting: '1 1 1 2 1', plan: { take: 3 } },
  { what: 'counts rows, not requests', waiting: '5 5', plan: { take: 1 } },
  { what: 'hits a preferred size with rows', preferred: [4], waiting: '3 1 2', plan: { take: 2 } },
  { what: 'never looks past the first that does not fit', waiting: '5 5 3', plan: { take: 1 } },
  { what: 'cuts before another shape', waiting: '1a 1a 1b 1a', plan: { take: 2 } },
  { what: 'does not reorder shapes', waiting: '1a 1b 1a 1b', plan: { take: 1 } },
  { what: 'runs a model that does not batch one at a time', max: 1, preferred: [], waiting: '1 1', plan: { take: 1 } },
  // With a delay.
  { what: 'waits for the delay', delayMs: 10, waiting: '1@3', nowMs: 5, plan: { waitMs: 8 } },
  { what: 'measures it from the oldest', delayMs: 10, waiting: '1@3 1@4', nowMs: 12, plan: { waitMs: 1 } },
  { what: 'goes when it has passed', delayMs: 10, waiting: '1@3 1@4', nowMs: 13, plan: { take: 2 } },
  { what: 'takes a full batch at once', delayMs: 10, waiting: '1 1 1 1 1 1 1 1 1', nowMs: 1, plan: { take: 8 } },
  { what: 'takes a preferred size at once', preferred: [2, 6], delayMs: 500, waiting: '1 1 1 1 1 1 1', nowMs: 1, plan: { take: 6 } },
  { what: 'and lets the rest wait', preferred: [2, 6], delayMs: 500, waiting: '1', nowMs: 1, plan: { waitMs: 499 } },
  {
    what: 'ignores preferred sizes once it has passed',
    preferred: [2, 6],
    delayMs: 500,
    waiting: '1 1 1 1 1 1 1',
    nowMs: 500,
    plan: { take: 7 },
  },
  { what: 'takes up to the maximum once it has passed', preferred: [4], delayMs: 5, waiting: '3 3 3', nowMs: 5, plan: { take: 2 } },
  { what: 'lets an oversize request go at once', preferred: [4], delayMs: 10, waiting: '6', nowMs: 1, plan: { take: 1 } },
  {
    what: 'does not wait when the next would pass the largest preferred size',
    preferred: [4],
    delayMs: 10,
    waiting: '3 2',
    nowMs: 1,
    plan: { take: 1 },
  },
  { what: 'does not wait when the next has another shape', delayMs: 10, waiting: '1a 1b', nowMs: 1, plan: { take: 1 } },
  { what: 'does not wait when the next is over the limit', delayMs: 10, waiting: '5 5', nowMs: 1, plan: { take: 1 } },
  {
    what: 'waits below the largest preferred size without a hit',
    preferred: [2, 6],
    delayMs: 10,
    waiting: '3',
    nowMs: 1,
    plan: { waitMs: 9 },
  },
  {
    what: 'takes a smaller preferred size rather than wait',
    preferred: [2, 6],
    delayMs: 10,
    waiting: '1 1 1',
    nowMs: 1,
    plan: { take: 2 },
  },
  {
    what: 'takes all of two pending where the third has another shape, however long the delay',
    delayMs: 1e4,
    waiting: '1a 1a 1b 1b',
    plan: { take: 2 },
  },
  {
    what: 'takes a preferred size though the next would be over the maximum',
    preferred: [4],
    delayMs: 10,
    waiting: '2 2 8',
    plan: { take: 2 },
  },
  { what: 'runs alone without preferred sizes, with a delay too', max: 1, preferred: [], delayMs: 10, waiting: '1 1', plan: { take: 1 } },
  { what: 'takes fractions of a millisecond', delayMs: 0.1, waiting: '1@0.25', nowMs: 0.3, plan: { waitMs: 0.35 - 0.3 } },
];

describe('planBatch', () => {
  it.each(rows)('$what: $waiting', ({ max = 8, preferred = [max], delayMs = 0, waiting, nowMs = 0, plan }) => {
    const decide = planBatch({ maxBatchSize: max, preferredBatchSizes: preferred, maxQueueDelayMs: delayMs });
    expect(decide(parse(waiting), nowMs)).toEqual(plan);
  });

  it('never falls short of the delay by a rounding error', () => {
    const decide = planBatch({ maxBatchSize: 8, preferredBatchSizes: [8], maxQueueDelayMs: 0.1 });
    for (let arrivedMs = 1000.1; arrivedMs < 2000; arrivedMs += 0.777) {
      let nowMs = arrivedMs;
      let wakeUps = 0;
      for (let plan = decide([{ rows: 1, shapeKey: '', arrivedMs }], nowMs); 'waitMs' in plan; wakeUps++) {
        nowMs += plan.waitMs;
        plan = decide([{ rows: 1, shapeKey: '', arrivedMs }], nowMs);
      }
      expect(wakeUps).toBeLessThan(3);
    }
  });
});

describe("planBatch with a rule of somebody's own", () => {
  /** At most so many rows of shape `a`. */
  const few = (most: number) => () => {
    let rows = 0;
    return (request: WaitingRequest): boolean => {
      if (request.shapeKey === 'a') rows += request.rows;
      return rows <= most;
    };
  };

  it.each([
    ['cuts where a request does not join, and sends without waiting', '1a 1a 1a 1a', 2, [8], { take: 2 }],
    ['waits while all join', '1a 1a', 2, [8], { waitMs: 10 }],
    ['sends a first one that does not join alone', '3a 1a', 2, [8], { take: 1 }],
    ['begins anew at each look', '2a 1a', 2, [8], { take: 1 }],
    ['takes a preferred size before the cut', '1a 1a 1a 1a', 3, [2], { take: 2 }],
  ] as const)('%s', (_, waiting, most, preferredBatchSizes, plan) => {
    const decide = planBatch({ maxBatchSize: 8, preferredBatchSizes, maxQueueDelayMs: 10 }, few(most));
    for (let look = 0; look < 2; look++) expect(decide(parse(waiting), 0)).toEqual(plan);
  });

  it('asks about no request that does not fit anyway', () => {
    const asked: string[] = [];
    const decide = planBatch<WaitingRequest>(
      { maxBatchSize: 2, preferredBatchSizes: [2], maxQueueDelayMs: 10 },
      () =>
        ({ shapeKey, rows }) => {
          asked.push(`${rows}${shapeKey}`);
          return true;
        },
    );
    decide(parse('1a 1b'), 0);
    decide(parse('1a 2a'), 0);
    expect(asked).toEqual(['1a', '1a']);
  });
});

describe('planSingle', () => {
  it('takes one', () => {
    expect(planSingle(parse('3 3'), 0)).toEqual({ take: 1 });
  });
});
