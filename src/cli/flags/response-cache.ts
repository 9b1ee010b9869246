import { checkCacheSettings } from '../../server/cache-settings.ts';
import type { CacheSettings, Draft, ServerSettings } from '../../server/settings.ts';
import { InferError } from '../../streams/inference/error.ts';
import { built, type Flag, noEffect } from '../flag.ts';
import { splitOnce } from '../flag-values.ts';
import { UsageError } from '../usage-error.ts';

const group = 'Response Cache';

const check = (cache: CacheSettings): void => {
  try {
    checkCacheSettings(cache);
  } catch (error) {
    throw error instanceof InferError ? new UsageError(error.message) : error;
  }
};

const addCacheSetting = (value: string, settings: Draft<ServerSettings>): void => {
  const [name, setting] = splitOnce(value, ',') ?? ['', ''];
  if (name === '') {
    throw new UsageError(`No cache specified. --cache-config option format is <cache name>,<setting>=<value>. Got ${value}`);
  }
  const [key, of] = splitOnce(setting, '=') ?? ['', ''];
  if (key === '' || of === '') throw new UsageError(`--cache-config option format is '<cache name>,<setting>=<value>'. Got ${value}`);
  if (settings.cache !== undefined && settings.cache.name !== name) {
    throw new UsageError('found multiple cache configurations, but only a single cache is currently supported');
  }
  settings.cache ??= { name, settings: new Map() };
  settings.cache.settings.set(key, of);
  check(settings.cache);
};

export const responseCacheFlags: readonly Flag[] = [
  built({
    name: 'cache-config',
    group,
    argument: '<string>,<string>=<string>',
    default: '',
    repeatable: true,
    description:
      'A setting of the response cache, which turns it on for models with `response_cache`: `local,size=<bytes>`, or `redis` with host, port, user, password, db, connect_timeout, socket_timeout, pool_size, wait_timeout, tls_enabled, cert, key, cacert, cacert_dir and sni.',
    apply: addCacheSetting,
  }),
  noEffect({
    name: 'cache-directory',
    group,
    argument: 'string',
    default: '/opt/tritonserver/caches',
    description: "Directory of caches' shared libraries.",
    reason: 'the caches are part of Weir',
    apply: (value) => {
      if (value === '') throw new UsageError('cache directory can not be empty');
    },
  }),
];
