import { describe, expect, it } from 'vitest';
import type { BatchExecuted, RequestEnded } from '../../src/streams/inference/events.ts';
import { createStatistics } from '../../src/telemetry/statistics.ts';

const ended = (changes: Partial<RequestEnded> = {}): RequestEnded => ({
  kind: 'request-ended',
  model: 'm',
  version: '1',
  failure: undefined,
  durationMs: 1.5,
  ...changes,
});

const executed = (changes: Partial<BatchExecuted> = {}): BatchExecuted => ({
  kind: 'batch-executed',
  model: 'm',
  version: '1',
  rows: 1,
  succeeded: 1,
  succeededRows: 1,
  queueMs: 0.25,
  computeInputMs: 0.125,
  computeInferMs: 0.5,
  computeOutputMs: 0.0625,
  endedAtMs: 1_700_000_000_000,
  ...changes,
});

const nothing = { count: 0, ns: 0 };

describe('statistics', () => {
  it('are zeros for a version of which nothing has happened, in the order of keys that Triton prints', () => {
    const statistics = createStatistics().of('m', '1');
    expect(JSON.stringify(statistics)).toBe(
      JSON.stringify({
        name: 'm',
        version: '1',
        last_inference: 0,
        inference_count: 0,
        execution_count: 0,
        inference_stats: {
          success: nothing,
          fail: nothing,
          queue: nothing,
          compute_input: nothing,
          compute_infer: nothing,
          compute_output: nothing,
          cache_hit: nothing,
          cache_miss: nothing,
        },
        response_stats: {},
        batch_stats: [],
        memory_usage: [],
      }),
    );
  });

  it('charge every request of a batch with the times of the whole batch, and the batch size once', () => {
    const { sink, of } = createStatistics();
    sink(executed({ rows: 6, succeeded: 3, succeededRows: 6, queueMs: 0.75, endedAtMs: 1_700_000_000_123.9 }));
    for (const durationMs of [1, 2, 3.000001]) sink(ended({ durationMs }));
    const { inference_stats, batch_stats, ...counts } = of('m', '1');
    expect(counts).toMatchObject({ inference_count: 6, execution_count: 1, last_inference: 1_700_000_000_123 });
    expect(inference_stats).toEqual({
      success: { count: 3, ns: 6_000_001 },
      fail: nothing,
      queue: { count: 3, ns: 750_000 },
      compute_input: { count: 3, ns: 375_000 },
      compute_infer: { count: 3, ns: 1_500_000 },
      compute_output: { count: 3, ns: 187_500 },
      cache_hit: nothing,
      cache_miss: nothing,
    });
    expect(batch_stats).toEqual([
      {
        batch_size: 6,
        compute_input: { count: 1, ns: 125_000 },
        compute_infer: { count: 1, ns: 500_000 },
        compute_output: { count: 1, ns: 62_500 },
      },
    ]);
  });

  it('count a failed run as a failure and nothing else', () => {
    const { sink, of, counters } = createStatistics();
    sink(ended({ failure: 'BACKEND', durationMs: 2 }));
    expect(of('m', '1')).toMatchObject({
      inference_count: 0,
      execution_count: 0,
      last_inference: 0,
      inference_stats: { success: nothing, fail: { count: 1, ns: 2_000_000 }, queue: nothing },
      batch_stats: [],
    });
    expect(counters('m', '1').failures).toEqual({ REJECTED: 0, CANCELED: 0, BACKEND: 1, OTHER: 0 });
  });

  it('sort batch sizes, and their counts add up to the executions', () => {
    const { sink, of } = createStatistics();
    for (const rows of [16, 2, 1, 2, 8, 16, 16]) sink(executed({ rows, succeededRows: rows }));
    const { batch_stats, execution_count, inference_count } = of('m', '1');
    expect(batch_stats.map(({ batch_size, compute_infer }) => [batch_size, compute_infer.count])).toEqual([
      [1, 1],
      [2, 2],
      [8, 1],
      [16, 3],
    ]);
    expect(execution_count).toBe(7);
    expect(inference_count).toBe(61);
  });

  it('count the rows that succeeded but file the batch under all of its rows', () => {
    const { sink, of } = createStatistics();
    sink(executed({ rows: 4, succeeded: 1, succeededRows: 3 }));
    expect(of('m', '1').inference_count).toBe(3);
    expect(of('m', '1').batch_stats.map((entry) => entry.batch_size)).toEqual([4]);
  });

  it('count answers of the cache as successes that were not run, and what looking and inserting took as part of a request', () => {
    const { sink, of } = createStatistics();
    const of1 = { model: 'm', version: '1' };
    sink({ kind: 'cache-missed', ...of1, lookupMs: 0.125, insertMs: 0.25 });
    sink(executed());
    sink(ended({ durationMs: 2 }));
    for (const lookupMs of [0.0625, 0.5]) {
      sink({ kind: 'cache-answered', ...of1, queueMs: 1, lookupMs });
      sink(ended({ durationMs: 1 }));
    }
    expect(of('m', '1')).toMatchObject({
      inference_count: 1,
      execution_count: 1,
      inference_stats: {
        success: { count: 3, ns: 4_000_000 },
        queue: { count: 3, ns: 2_250_000 },
        compute_input: { count: 1, ns: 125_000 },
        compute_infer: { count: 1, ns: 500_000 },
        compute_output: { count: 1, ns: 62_500 },
        cache_hit: { count: 2, ns: 562_500 },
        cache_miss: { count: 1, ns: 375_000 },
      },
    });
  });

  it('keep versions apart, and start from zero after a version was forgotten', () => {
    const { sink, of, forget } = createStatistics();
    sink(executed());
    sink(executed({ version: '2' }));
    sink(executed({ version: '2' }));
    forget('m', '2');
    expect(of('m', '1').execution_count).toBe(1);
    expect(of('m', '2').execution_count).toBe(0);
    sink(executed({ version: '2' }));
    expect(of('m', '2').execution_count).toBe(1);
  });
});
