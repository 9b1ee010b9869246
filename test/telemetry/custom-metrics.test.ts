import { beforeEach, describe, expect, it } from 'vitest';
import { ModelMetrics } from '../../src/telemetry/custom-metrics.ts';
import { renderFamilies } from '../../src/telemetry/families.ts';

describe('metrics of models', () => {
  let metrics: ModelMetrics;
  const text = () => renderFamilies(metrics.families());

  beforeEach(() => {
    metrics = new ModelMetrics();
  });

  it('shows counters and gauges with the labels that each series has', async () => {
    const words = metrics.family('words', 'Words read', 'counter');
    words.series({ model: 'a' }).increment(2);
    words.series({ model: 'a' }).increment(1);
    words.series({ model: 'a', language: 'de' }).increment(0.5);
    const load = metrics.family('load', 'Load', 'gauge').series({});
    load.set(7);
    load.increment(-2);
    expect(load.value()).toBe(5);
    expect(await text()).toContain('# TYPE words counter\nwords{model="a"} 3\nwords{model="a",language="de"} 0.5');
    expect(await text()).toContain('# HELP load Load\n# TYPE load gauge\nload 5');
  });

  it('counts what a histogram observes into its buckets', async () => {
    const seconds = metrics.family('seconds', 'Time', 'histogram').series({ model: 'a' }, [0.1, 1]);
    for (const value of [0.05, 0.1, 0.5, 3]) seconds.observe(value);
    const lines = (await text()).split('\n').filter((line) => line.startsWith('seconds'));
    expect(lines).toEqual([
      'seconds_bucket{model="a",le="0.1"} 2',
      'seconds_bucket{model="a",le="1"} 3',
      'seconds_bucket{model="a",le="+Inf"} 4',
      'seconds_sum{model="a"} 3.65',
      'seconds_count{model="a"} 4',
    ]);
  });

  it('keeps a family and a series while one of those who asked for it is there', async () => {
    const [one, other] = [metrics.family('words', 'Words read', 'counter'), metrics.family('words', 'Words read', 'counter')];
    one.series({}).increment(1);
    other.series({}).increment(1);
    one.remove();
    one.remove();
    expect(await text()).toContain('words 2');
    other.remove();
    expect(metrics.families()).toEqual([]);
    expect(metrics.family('words', 'Words read', 'gauge').series({}).value()).toBe(0);
  });

  it.each([
    ['1st', 'counter', 'INVALID_ARGUMENT'],
    ['a-b', 'counter', 'INVALID_ARGUMENT'],
    ['nv_inference_count', 'counter', 'ALREADY_EXISTS'],
    ['weir_anything', 'gauge', 'ALREADY_EXISTS'],
    ['words', 'gauge', 'ALREADY_EXISTS'],
  ] as const)('refuses %s as a %s', (name, kind, code) => {
    metrics.family('words', 'Words read', 'counter');
    expect(() => metrics.family(name, 'Words read', kind)).toThrow(
      expect.objectContaining({ code, message: expect.stringContaining(name) }),
    );
  });

  it('shows whatever a model has counted: series whose labels look alike side by side, infinity, no description', async () => {
    const words = metrics.family('words', '', 'counter');
    words.series({ a: '1,b:2', b: '3' }).increment(1);
    words.series({ a: '1', b: '2,b:3' }).increment(Number.POSITIVE_INFINITY);
    metrics.family('load', '', 'gauge').series({ a: 'x,b:y' }).set(Number.NEGATIVE_INFINITY);
    metrics.family('load', '', 'gauge').series({ a: 'x', b: 'y' }).set(1);
    metrics.family('seconds', '', 'histogram').series({}, [1]).observe(Number.POSITIVE_INFINITY);
    expect((await text()).split('\n').filter((line) => line !== '')).toEqual([
      '# HELP words  ',
      '# TYPE words counter',
      'words{a="1,b:2",b="3"} 1',
      'words{a="1",b="2,b:3"} +Inf',
      '# HELP load  ',
      '# TYPE load gauge',
      'load{a="x,b:y"} -Inf',
      'load{a="x",b="y"} 1',
      '# HELP seconds  ',
      '# TYPE seconds histogram',
      'seconds_bucket{le="1"} 0',
      'seconds_bucket{le="+Inf"} 1',
      'seconds_sum +Inf',
      'seconds_count 1',
    ]);
  });

  it('refuses what a kind does not have', () => {
    const counter = metrics.family('c', '', 'counter');
    const histogram = metrics.family('h', '', 'histogram');
    const series = histogram.series({}, [1]);
    const refusals: (() => unknown)[] = [
      () => counter.series({}).increment(-1),
      () => counter.series({}).increment(Number.NaN),
      () => counter.series({}).set(1),
      () => counter.series({}).observe(1),
      () => series.increment(1),
      () => series.value(),
      () => histogram.series({ other: 'bounds' }, [2, 1]),
      () => counter.series({ le: '1' }),
    ];
    for (const refused of refusals) expect(refused).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
    expect(() => histogram.series({})).toThrow('Failed to create metric. Missing required buckets.');
    expect(() => counter.series({}, [1])).toThrow('Failed to create metric. Unexpected buckets found.');
  });

  it('lets no model grow them without bound, and has room again for what goes', () => {
    const family = metrics.family('many', '', 'counter');
    for (let n = 0; n < 10_000; n++) family.series({ n: String(n) });
    expect(() => family.series({ n: 'more' })).toThrow('may have no more');
    expect(family.series({ n: '3' }).value()).toBe(0);
    family.remove();
    expect(metrics.family('many', '', 'counter').series({ n: 'more' }).value()).toBe(0);
  });
});
