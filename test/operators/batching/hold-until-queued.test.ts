import { describe, expect, it } from 'vitest';
import { holdUntilQueued } from '../../../src/operators/batching/hold-until-queued.ts';

describe('holdUntilQueued', () => {
  it('takes nothing before so many wait, once', () => {
    const plan = holdUntilQueued<number>(3, ({ length }) => ({ take: length }));
    const held = { waitMs: Number.POSITIVE_INFINITY };
    expect([[1], [1, 2], [1], [1, 2, 3, 4], [1], [1, 2]].map((waiting) => plan(waiting, 0))).toEqual([
      held,
      held,
      held,
      { take: 4 },
      { take: 1 },
      { take: 2 },
    ]);
  });
});
