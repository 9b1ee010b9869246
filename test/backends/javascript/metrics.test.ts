import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { ModelMetrics } from '../../../src/telemetry/custom-metrics.ts';
import { renderFamilies } from '../../../src/telemetry/families.ts';
import { inferRequest } from '../../support/request-fixtures.ts';
import { until } from '../../support/until.ts';
import { floatsOf, makeBatch, outcomeOf, runOf, workbench } from './workbench.ts';

const { backendOf, log, open, openModel, write } = workbench();

const batch = () => makeBatch([inferRequest({ IN: floatsOf([1]) })]);

const answers = 'requests.map(() => ({}))';

const scrape = async (metrics: ModelMetrics): Promise<readonly string[]> =>
  (await renderFamilies(metrics.families())).split('\n').filter((line) => line !== '');

describe('metrics', () => {
  it('are made, changed and read, and go with the instance', async () => {
    const metrics = new ModelMetrics();
    const { instance, life } = await openModel(
      `let counter, gauge, histogram;
      export default defineModel({
        async load({ metrics }) {
          counter = await metrics.counter('c', 'Counts', { b: '1', a: '2' });
          gauge = await metrics.gauge('g', 'Gauges');
          histogram = await metrics.histogram('h', 'Sees', [1, 2]);
        },
        execute: perRequest(async (request, context) => {
          (await context.metrics.counter('c', 'Counts', { a: '2', b: '1' })).increment();
          counter.increment(2);
          gauge.set(5);
          gauge.increment(-0.5);
          gauge.set(NaN);
          gauge.set(6);
          histogram.observe(1.5);
          return { parameters: { counter: await counter.value(), gauge: await gauge.value() } };
        }),
      });`,
      { metrics },
    );
    const { parts } = await outcomeOf(instance, batch());
    expect([...(parts[0]?.parameters ?? [])]).toEqual([
      ['counter', 3],
      ['gauge', 6],
    ]);
    expect(log.lines).toEqual(["warning m_0: metric 'g' was given no number"]);
    expect((await scrape(metrics)).filter((line) => !line.startsWith('#'))).toEqual([
      'c{b="1",a="2"} 3',
      'g 6',
      'h_bucket{le="1"} 0',
      'h_bucket{le="2"} 1',
      'h_bucket{le="+Inf"} 1',
      'h_sum 1.5',
      'h_count 1',
    ]);
    life.unsubscribe();
    await until(() => metrics.families().length === 0);
  });

  it('are all counted, however many come at once', async () => {
    const metrics = new ModelMetrics();
    const { instance } = await openModel(
      `let histogram;
      export default defineModel({
        async load({ metrics }) {
          histogram = await metrics.histogram('h', 'Sees', [1]);
        },
        execute: (requests) => {
          for (let index = 0; index < 50_000; index++) histogram.observe(index);
          return ${answers};
        },
      });`,
      { metrics },
    );
    await runOf(instance, batch());
    while (!(await scrape(metrics)).includes('h_count 50000')) await setImmediate();
  });

  it('are shared by instances and models, and when the last has gone their name is free for another kind', async () => {
    const metrics = new ModelMetrics();
    const files = await write(`let counter;
      export default {
        async load({ metrics }) {
          counter = await metrics.counter('c', 'Counts');
          await metrics.counter('c', 'Counts', { of: 'both' });
        },
        execute: async (requests) => { counter.increment(); await counter.value(); return ${answers}; },
      };`);
    const backend = backendOf({ metrics });
    const [first, second] = [await open(files, { metrics }, backend), await open(files, { metrics, name: 'm_1' }, backend)];
    await runOf(first.instance, batch());
    first.life.unsubscribe();
    await runOf(second.instance, batch());
    expect((await scrape(metrics)).filter((line) => !line.startsWith('#'))).toEqual(['c 2', 'c{of="both"} 0']);
    second.life.unsubscribe();
    await until(() => metrics.families().length === 0);
    const gauge = await open(
      await write(`export default { load: ({ metrics }) => metrics.gauge('c', 'Is'), execute: (requests) => ${answers} };`),
      { metrics, name: 'm_2' },
      backend,
    );
    expect(await scrape(metrics)).toContain('# TYPE c gauge');
    gauge.life.unsubscribe();
  });

  it('are counted right however often a loop changes them', async () => {
    const { instance } = await openModel(
      `let counters, gauge;
      export default defineModel({
        async load({ metrics }) {
          counters = [await metrics.counter('a', 'A'), await metrics.counter('b', 'B')];
          gauge = await metrics.gauge('g', 'G');
        },
        execute: perRequest(async () => {
          for (let round = 0; round < 200_000; round++) {
            counters[round % 2].increment();
            gauge.set(round);
            if (round % 3 === 0) gauge.increment(0.5);
          }
          return { parameters: { a: await counters[0].value(), b: await counters[1].value(), g: await gauge.value() } };
        }),
      });`,
      { metrics: new ModelMetrics() },
    );
    const { parts } = await outcomeOf(instance, batch());
    expect([...(parts[0]?.parameters.values() ?? [])]).toEqual([100_000, 100_000, 199_999]);
  });

  it('can be scraped whatever models call them and put into them', async () => {
    const metrics = new ModelMetrics();
    const { instance } = await openModel(
      `const values = ['quote " backslash \\\\ end', 'new\\nline', '# HELP fake x', 'tab\\t', '', '1,b:2', '😀', '\\ud800', '}', '=', 'a'.repeat(5000)];
      export default defineModel({
        execute: perRequest(async (request, { metrics }) => {
          for (const value of values) {
            (await metrics.counter('hostile', 'line one\\nline "two" \\\\', { a: value, b: '3' })).increment();
            (await metrics.gauge('hostile_too', '', { a: value })).set(-Infinity);
            (await metrics.histogram('hostile_histogram', '', [1], { a: value })).observe(Infinity);
          }
          (await metrics.counter('hostile', 'line one\\nline "two" \\\\', { a: '1', b: '2,b:3' })).increment(7);
          const huge = await metrics.counter('huge', '');
          huge.increment(1.7e308);
          huge.increment(1.7e308);
          return { parameters: { huge: await huge.value() } };
        }),
      });`,
      { metrics },
    );
    expect(await runOf(instance, batch())).toEqual(['0 ']);
    const lines = await scrape(metrics);
    const form = /^(# (HELP|TYPE) \w+ .*|\w+(\{(\w+="([^"\\\n]|\\[\\n"])*",?)*\})? (-?[\d.e+]+|[+-]Inf|Nan))$/;
    expect(lines.filter((line) => !form.test(line))).toEqual([]);
    const counted = lines.filter((line) => line.startsWith('hostile{'));
    expect(counted).toHaveLength(12);
    expect(counted).toContain('hostile{a="1",b="2,b:3"} 7');
    expect(counted).toContain('hostile{a="1,b:2",b="3"} 1');
    expect(lines).toContain('huge +Inf');
  });

  it('are refused where they are none, and the instance goes on', async () => {
    const metrics = new ModelMetrics();
    const wrong = [
      `metrics.counter('bad name', '')`,
      `metrics.counter(Symbol('s'), '')`,
      `metrics.counter('x', undefined)`,
      `metrics.counter('x', () => '')`,
      `metrics.counter('x', '', { a: 5 })`,
      `metrics.counter('x', '', { a: () => '' })`,
      `metrics.counter('x', '', new Map([['a', 'b']]))`,
      `metrics.counter('x', '', { 'a b': '' })`,
      `metrics.histogram('x', '', 'wide')`,
      `metrics.histogram('x', '', [1, '2'])`,
      `metrics.histogram('x', '', [2, 1])`,
      `metrics.histogram('x', '')`,
      `metrics.counter('x', '').then((counter) => counter.increment(-1))`,
      `metrics.counter('x', '').then((counter) => counter.increment('1'))`,
      `metrics.gauge('y', '').then((gauge) => gauge.set(5n))`,
      `metrics.gauge('x', '')`,
    ];
    const { instance } = await openModel(
      `export default defineModel({ execute: perRequest(async (request, { metrics }) => {
        const said = [];
        for (const make of [${wrong.map((call) => `() => ${call}`).join()}]) {
          try { await make(); said.push('nothing'); } catch (error) { said.push(error.code + ' ' + error.message); }
        }
        return { parameters: { said: said.join('\\n') } };
      }) });`,
      { metrics },
    );
    const { parts } = await outcomeOf(instance, batch());
    expect(String(parts[0]?.parameters.get('said')).split('\n')).toEqual([
      "INTERNAL 'bad name' is no name of a metric",
      'INTERNAL expected the name of a metric to be a string, got symbol',
      "INTERNAL metric 'x': expected its description to be a string, got undefined",
      "INTERNAL metric 'x': expected its description to be a string, got function",
      "INTERNAL metric 'x': expected label 'a' to be a string, got number",
      "INTERNAL metric 'x': expected label 'a' to be a string, got function",
      "INTERNAL metric 'x': expected its labels to be an object, got Map",
      "INTERNAL 'a b' is no label of metric 'x'",
      "INTERNAL metric 'x': expected its buckets to be an array of numbers, got string",
      "INTERNAL metric 'x': expected a bucket to be a number, got string",
      "INTERNAL buckets of metric 'x' must be ascending, got 2, 1",
      'INTERNAL Failed to create metric. Missing required buckets.',
      "INTERNAL counter 'x' cannot be incremented by -1",
      "INTERNAL metric 'x': expected a step to be a number, got string",
      "INTERNAL metric 'y': expected a value to be a number, got bigint",
      "INTERNAL metric 'x' is a counter already: ",
    ]);
    expect(await scrape(metrics)).toEqual(['# HELP x  ', '# TYPE x counter', 'x 0', '# HELP y  ', '# TYPE y gauge', 'y 0']);
  });
});
