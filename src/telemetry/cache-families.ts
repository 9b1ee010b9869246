import type { CacheTally, ResponseCache } from '../streams/inference/response-cache.ts';
import { type Family, gauge, type Sample } from './families.ts';
import type { ModelCounters } from './statistics.ts';

/** What a scrape tells of the server's cache. */
export type CacheMetrics = Pick<ResponseCache, 'tally' | 'fill' | 'waitingBytes' | 'waitingBytesLimit'>;

/** One version of a model that uses the cache. */
export interface CachedVersion {
  readonly labels: Sample['labels'];
  readonly counters: Readonly<ModelCounters>;
}

const fromMs = (ms: number): number => Math.trunc(ms * 1000);
const fromNs = (ns: number): number => Math.trunc(ns / 1000);

const tallyFamilies = ({ lookups, hits, misses, lookupMs, insertMs }: CacheTally): readonly Family[] => [
  gauge('nv_cache_num_hits', 'Number of cache hits in response cache', hits),
  gauge('nv_cache_num_misses', 'Number of cache misses in response cache', misses),
  gauge('nv_cache_num_lookups', 'Number of cache lookups in response cache', lookups),
  gauge('nv_cache_lookup_duration', 'Total cache lookup duration (hit and miss), in microseconds', fromMs(lookupMs)),
  gauge('nv_cache_insertion_duration', 'Total cache insertion duration, in microseconds', fromMs(insertMs)),
];

const fillFamilies = (cache: CacheMetrics): readonly Family[] => {
  const fill = cache.fill();
  if (fill === undefined) return [];
  return [
    gauge('nv_cache_util', 'Cache utilization [0.0 - 1.0]', fill.utilization),
    gauge('nv_cache_num_entries', 'Number of responses stored in response cache', fill.entries),
    gauge('nv_cache_num_evictions', 'Number of cache evictions in response cache', fill.evictions),
  ];
};

const queueFamilies = ({ waitingBytes, waitingBytesLimit }: CacheMetrics): readonly Family[] => {
  if (waitingBytesLimit === 0) return [];
  return [
    gauge('weir_cache_waiting_bytes', 'Answers on their way into the cache, in bytes', waitingBytes),
    gauge('weir_cache_waiting_bytes_limit', 'Answers that may be on their way into the cache, in bytes', waitingBytesLimit),
  ];
};

/** Triton's gauges of the whole cache; those that a cache cannot tell are left out. */
export const cacheFamilies = (cache: CacheMetrics | undefined): readonly Family[] =>
  cache === undefined ? [] : [...fillFamilies(cache), ...tallyFamilies(cache.tally), ...queueFamilies(cache)];

type Metric = readonly [name: string, help: string, value: (counters: Readonly<ModelCounters>) => number];

const perVersion: readonly Metric[] = [
  ['nv_cache_num_hits_per_model', 'Number of cache hits per model', ({ cacheHits }) => cacheHits],
  ['nv_cache_hit_duration_per_model', 'Total cache hit duration per model, in microseconds', ({ cacheHitNs }) => fromNs(cacheHitNs)],
  ['nv_cache_num_misses_per_model', 'Number of cache misses per model', ({ cacheMisses }) => cacheMisses],
  [
    'nv_cache_miss_duration_per_model',
    'Total cache miss (insert+lookup) duration per model, in microseconds',
    ({ cacheMissNs }) => fromNs(cacheMissNs),
  ],
];

/** Triton's counters of the models that use the cache. */
export const cachedModelFamilies = (versions: readonly CachedVersion[]): readonly Family[] =>
  perVersion.map(([name, help, value]) => ({
    kind: 'counter',
    name,
    help,
    samples: versions.map(({ labels, counters }) => ({ labels, value: value(counters) })),
  }));
