import { InferError } from '../streams/inference/error.ts';
import type { CacheSettings } from './settings.ts';

/** The caches that Weir has, and what each can be told. */
const knownSettings: ReadonlyMap<string, readonly string[]> = new Map([
  ['local', ['size']],
  [
    'redis',
    [
      'host',
      'port',
      'user',
      'password',
      'db',
      'connect_timeout',
      'socket_timeout',
      'pool_size',
      'wait_timeout',
      'tls_enabled',
      'cert',
      'key',
      'cacert',
      'cacert_dir',
      'sni',
    ],
  ],
]);

export const cacheNames: readonly string[] = [...knownSettings.keys()];

/**
 * Refuses a cache that there is not, and a setting that nothing reads. What a setting says is for the cache to judge.
 *
 * @throws InferError INVALID_ARGUMENT
 */
export const checkCacheSettings = ({ name, settings }: CacheSettings): void => {
  const known = knownSettings.get(name);
  if (known === undefined) {
    // So far the sentence is Triton's.
    throw new InferError('INVALID_ARGUMENT', `unable to find 'libtritoncache_${name}.so' for cache. There is ${cacheNames.join(' and ')}`);
  }
  for (const key of settings.keys()) {
    if (known.includes(key)) continue;
    throw new InferError('INVALID_ARGUMENT', `cache '${name}' has no setting '${key}'; there is ${known.join(', ')}`);
  }
};
