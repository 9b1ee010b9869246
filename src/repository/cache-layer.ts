import { from, map, type Observable, of } from 'rxjs';
import {
  type CacheStageCounters,
  noCacheStageCounters,
  type ResponseCacheConfig,
  responseCache,
} from '../operators/cache/response-cache.ts';
import type { Layer } from '../streams/inference/infer.ts';
import type { ModelSpec } from '../streams/inference/model-spec.ts';
import type { ResponseCache } from '../streams/inference/response-cache.ts';

export type CacheLayerConfig = Pick<ResponseCacheConfig, 'sink' | 'scheduler' | 'log'> & { readonly cache: ResponseCache };

export interface CacheLayer {
  readonly layer: Layer;
  readonly counters: CacheStageCounters;
}

/** Of this process: what was loaded once is never loaded again. */
let loads = 0;

/**
 * The cache of one load of a version, so that no load answers from the content of another: a cache of this server's own tells loads apart, and a shared one
 * contents. Emits once; at once for a cache that is not shared.
 */
export const cacheLayer = (spec: ModelSpec, fingerprint: () => Promise<string>, config: CacheLayerConfig): Observable<CacheLayer> => {
  const contentId$ = config.cache.isShared ? from(fingerprint()) : of(`load ${++loads}`);
  return contentId$.pipe(
    map((contentId) => {
      const counters = noCacheStageCounters();
      return { counters, layer: responseCache({ ...config, spec, contentId, counters }) };
    }),
  );
};
