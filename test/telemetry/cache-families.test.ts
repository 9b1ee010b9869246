import { expect, it } from 'vitest';
import { type CacheMetrics, cachedModelFamilies, cacheFamilies } from '../../src/telemetry/cache-families.ts';
import { renderFamilies } from '../../src/telemetry/families.ts';
import { createStatistics } from '../../src/telemetry/statistics.ts';

const cache: CacheMetrics = {
  tally: { lookups: 5, hits: 3, misses: 2, lookupMs: 1.2345, insertMs: 0.5 },
  waitingBytes: 0,
  waitingBytesLimit: 0,
  fill: () => ({ entries: 4, evictions: 6, utilization: 0.25 }),
};

const help = {
  nv_cache_num_entries: 'Number of responses stored in response cache',
  nv_cache_num_lookups: 'Number of cache lookups in response cache',
  nv_cache_num_hits: 'Number of cache hits in response cache',
  nv_cache_num_misses: 'Number of cache misses in response cache',
  nv_cache_num_evictions: 'Number of cache evictions in response cache',
  nv_cache_lookup_duration: 'Total cache lookup duration (hit and miss), in microseconds',
  nv_cache_insertion_duration: 'Total cache insertion duration, in microseconds',
  nv_cache_util: 'Cache utilization [0.0 - 1.0]',
};

const values = {
  nv_cache_num_entries: 4,
  nv_cache_num_lookups: 5,
  nv_cache_num_hits: 3,
  nv_cache_num_misses: 2,
  nv_cache_num_evictions: 6,
  nv_cache_lookup_duration: 1234,
  nv_cache_insertion_duration: 500,
  nv_cache_util: 0.25,
};

it("are Triton's gauges of the cache", async () => {
  const lines = (await renderFamilies(cacheFamilies(cache))).trim().split('\n').filter(Boolean);
  const expected = Object.entries(help).flatMap(([name, text]) => [`# HELP ${name} ${text}`, `# TYPE ${name} gauge`]);
  expect(lines.toSorted()).toEqual([...expected, ...Object.entries(values).map(([name, value]) => `${name} ${value}`)].toSorted());
});

it('leave out what a cache cannot tell, and tell what waits for it where something may', async () => {
  const text = await renderFamilies(cacheFamilies({ ...cache, fill: () => undefined, waitingBytes: 7, waitingBytesLimit: 9 }));
  expect(text).not.toMatch(/num_entries|num_evictions|util/);
  expect(text).toMatch(/^weir_cache_waiting_bytes 7$/m);
  expect(text).toMatch(/^weir_cache_waiting_bytes_limit 9$/m);
  expect(cacheFamilies(undefined)).toEqual([]);
});

it('are counters of each model that uses it', async () => {
  const statistics = createStatistics();
  statistics.sink({ kind: 'cache-answered', model: 'm', version: '1', queueMs: 1, lookupMs: 0.0125 });
  statistics.sink({ kind: 'cache-missed', model: 'm', version: '1', lookupMs: 0.25, insertMs: 0.5 });
  const labels = { model: 'm', version: '1' };
  const text = await renderFamilies(cachedModelFamilies([{ labels, counters: statistics.counters('m', '1') }]));
  for (const [name, value] of [
    ['nv_cache_num_hits_per_model', 1],
    ['nv_cache_hit_duration_per_model', 12],
    ['nv_cache_num_misses_per_model', 1],
    ['nv_cache_miss_duration_per_model', 750],
  ] as const) {
    expect(text).toContain(`# TYPE ${name} counter\n${name}{model="m",version="1"} ${value}\n`);
  }
});
