import { LocalCache } from '../caches/local/local-cache.ts';
import { readSize } from '../caches/local/read-size.ts';
import { RedisCache } from '../caches/redis/redis-cache.ts';
import { readRedisSettings, unusedTlsSettings } from '../caches/redis/redis-settings.ts';
import type { Log } from '../streams/inference/log.ts';
import type { ResponseCache } from '../streams/inference/response-cache.ts';
import { checkCacheSettings } from './cache-settings.ts';

/**
 * The cache of a server, `local` or `redis`, with the settings of `--cache-config`. It begins at once: whoever opens it closes it.
 *
 * @throws Error that tells what is wrong with the name or the settings
 */
export const openCache = (name: string, settings: ReadonlyMap<string, string>, log: Log): ResponseCache => {
  checkCacheSettings({ name, settings });
  if (name === 'local') return new LocalCache({ sizeBytes: readSize(settings.get('size')), log });
  for (const unused of unusedTlsSettings(settings)) {
    log.warning(`--cache-config=redis,${unused}=… has no effect without --cache-config=redis,tls_enabled=true`);
  }
  return new RedisCache({ settings: readRedisSettings(settings, process.env), log });
};
