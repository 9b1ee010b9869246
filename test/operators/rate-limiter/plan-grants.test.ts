import { describe, expect, it } from 'vitest';
import type { Seat } from '../../../src/operators/rate-limiter/plan-grants.ts';
import { planGrants } from '../../../src/operators/rate-limiter/plan-grants.ts';
import type { Pool } from '../../../src/streams/flow/share-permits.ts';

const pool = (limit: number, used = 0): Pool => ({ limit, used });

const seat = (turns: number, priority: number, ...shares: readonly (readonly [Pool, number])[]): Seat => ({
  turns,
  priority,
  isUp: true,
  shares: shares.map(([each, count]) => ({ pool: each, count })),
});

describe('planGrants', () => {
  it('tries the lowest executions × priority, of each model and of all', () => {
    const r = pool(4);
    const waiting = [[seat(3, 2, [r, 1])], [seat(9, 1, [r, 1]), seat(5, 1, [r, 1])], [seat(1, 6, [r, 1])]];
    expect(planGrants(waiting)).toEqual({ question: 1, candidate: 1 });
  });

  it('tries nobody else when that one does not find what it needs', () => {
    const r = pool(4, 3);
    const waiting = [[seat(1, 1, [pool(1), 1])], [seat(0, 1, [r, 1], [pool(4, 3), 2])]];
    expect(planGrants(waiting)).toBeUndefined();
  });

  it('takes exactly what is there', () => {
    const r = pool(4, 3);
    expect(planGrants([[seat(0, 1, [r, 1])]])).toEqual({ question: 0, candidate: 0 });
    expect(planGrants([[seat(0, 1, [r, 2])]])).toBeUndefined();
  });

  it('takes of equals the one that finds what it needs, else the first', () => {
    const full = pool(1, 1);
    expect(planGrants([[seat(0, 1, [full, 1])], [seat(0, 3, [pool(1), 1])]])).toEqual({ question: 1, candidate: 0 });
    expect(planGrants([[seat(0, 1, [full, 1]), seat(0, 1, [pool(1), 1])]])).toEqual({ question: 0, candidate: 1 });
    expect(planGrants([[seat(0, 1, [pool(1), 1])], [seat(0, 1, [pool(1), 1])]])).toEqual({ question: 0, candidate: 0 });
  });

  it('lets an instance that needs nothing go past those that wait', () => {
    const full = pool(1, 1);
    const blocked = [seat(0, 1, [full, 1])];
    expect(planGrants([blocked, [seat(7, 1)]])).toEqual({ question: 1, candidate: 0 });
    expect(planGrants([blocked, [seat(0, 1, [full, 1]), seat(7, 1)]])).toEqual({ question: 1, candidate: 1 });
  });

  it('has nothing to say about nobody', () => {
    expect(planGrants([])).toBeUndefined();
  });
});
