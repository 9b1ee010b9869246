import { describe, expect, it } from 'vitest';
import type { ResponseMade } from '../../src/streams/inference/events.ts';
import { createStatistics } from '../../src/telemetry/statistics.ts';

const made = (changes: Partial<ResponseMade> = {}): ResponseMade => ({
  kind: 'response-made',
  model: 'm',
  version: '1',
  index: 0,
  outcome: 'success',
  computeInferMs: 2,
  computeOutputMs: 0.5,
  ...changes,
});

const nothing = { count: 0, ns: 0 };
const ms = (count: number, sumMs: number) => ({ count, ns: sumMs * 1e6 });

describe('response_stats', () => {
  it('have the time to an answer, to its output and both together, in the order of keys that Triton prints', () => {
    const { sink, of } = createStatistics();
    sink(made());
    sink(made({ computeInferMs: 1, computeOutputMs: 0 }));
    expect(JSON.stringify(of('m', '1').response_stats)).toBe(
      JSON.stringify({
        0: {
          compute_infer: ms(2, 3),
          compute_output: ms(2, 0.5),
          success: ms(2, 3.5),
          fail: nothing,
          empty_response: nothing,
          cancel: nothing,
        },
      }),
    );
  });

  it('count an empty answer, a failure and a cancellation under their own names', () => {
    const { sink, of } = createStatistics();
    sink(made({ index: 1, outcome: 'empty', computeOutputMs: 0 }));
    sink(made({ index: 2, outcome: 'fail', computeOutputMs: 0 }));
    sink(made({ index: 3, outcome: 'cancel', computeOutputMs: 0 }));
    const none = {
      compute_infer: nothing,
      compute_output: nothing,
      success: nothing,
      fail: nothing,
      empty_response: nothing,
      cancel: nothing,
    };
    expect(of('m', '1').response_stats).toEqual({
      0: none,
      1: { ...none, compute_infer: ms(1, 2), empty_response: ms(1, 2) },
      2: { ...none, compute_infer: ms(1, 2), fail: ms(1, 2) },
      3: { ...none, cancel: ms(1, 2) },
    });
  });

  it('have the first thousand answers of a request, so that a model that answers without end costs no memory', () => {
    const { sink, of } = createStatistics();
    for (let index = 0; index < 1500; index++) sink(made({ index }));
    const keys = Object.keys(of('m', '1').response_stats);
    expect([keys.length, keys.at(-1)]).toEqual([1000, '999']);
  });

  it('are the numbers of the moment, and start from zero after the version was forgotten', () => {
    const { sink, of, forget } = createStatistics();
    sink(made());
    const before = of('m', '1').response_stats;
    sink(made());
    expect(before['0']?.success.count).toBe(1);
    expect(of('m', '1').response_stats['0']?.success.count).toBe(2);
    forget('m', '1');
    expect(of('m', '1').response_stats).toEqual({});
  });
});
