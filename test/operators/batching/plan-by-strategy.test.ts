import { describe, expect, it } from 'vitest';
import type { BatchStrategy } from '../../../src/operators/batching/batch-strategy.ts';
import { planByStrategy } from '../../../src/operators/batching/plan-by-strategy.ts';
import type { InferRequest } from '../../../src/streams/inference/request.ts';
import { makeLog, makeRequest } from '../../support/model.ts';

const limits = { maxBatchSize: 8, preferredBatchSizes: [8], maxQueueDelayMs: 10 };

const waiting = (...sizes: readonly number[]) =>
  sizes.map((size) => ({ rows: 1, shapeKey: '', arrivedMs: 0, request: makeRequest({}, [1, size]) }));

const setUp = (strategy: BatchStrategy) => {
  const log = makeLog();
  return { log, plan: planByStrategy({ limits, strategy, log, model: "model 'm' version 1" }) };
};

/** As Triton's sample: a batch of at most so many bytes. */
const volume = (most: number): BatchStrategy<{ bytes: number }> => ({
  begin: () => ({ bytes: 0 }),
  includes: ({ inputs }: InferRequest, state) => {
    for (const tensor of inputs.values()) state.bytes += tensor.byteLength;
    return state.bytes <= most;
  },
});

// A user's types are his own.
const wrong = (fields: Record<string, unknown>): BatchStrategy => Object.assign(volume(9), fields);

describe('planByStrategy', () => {
  it('cuts the batch where the strategy says so, at every look', () => {
    const { plan } = setUp(volume(9));
    expect(plan(waiting(4, 4, 4), 0)).toEqual({ take: 2 });
    expect(plan(waiting(4, 4, 4), 0)).toEqual({ take: 2 });
    expect(plan(waiting(4, 4), 0)).toEqual({ waitMs: 10 });
    expect(plan(waiting(12, 4), 0)).toEqual({ take: 1 });
  });

  const failing = (): never => {
    throw new Error('oh');
  };

  it.each<[string, BatchStrategy, string]>([
    ['begin throws', wrong({ begin: failing }), 'Error: oh'],
    ['includes throws', wrong({ includes: failing }), 'Error: oh'],
    ['includes returns a number', wrong({ includes: () => 1 }), 'TypeError: includes() returned 1, neither true nor false'],
    ['begin returns a promise', wrong({ begin: () => Promise.reject(new Error('late')) }), 'TypeError: begin() returned a promise'],
    ['includes returns a promise', wrong({ includes: async () => failing() }), 'TypeError: includes() returned a promise'],
  ])('plans by the usual rule and says so once: %s', (_, strategy, why) => {
    const { plan, log } = setUp(strategy);
    for (let look = 0; look < 3; look++) expect(plan(waiting(4, 4, 4), 0)).toEqual({ waitMs: 10 });
    expect(log.lines).toEqual([`error the batch strategy of model 'm' version 1 failed, and its batches are planned without it: ${why}`]);
  });

  it('asks again after a fault', () => {
    let calls = 0;
    const { plan } = setUp(wrong({ begin: () => (calls++ === 0 ? failing() : { bytes: 0 }) }));
    expect(plan(waiting(4, 4, 4), 0)).toEqual({ waitMs: 10 });
    expect(plan(waiting(4, 4, 4), 0)).toEqual({ take: 2 });
  });
});
