import { describe, expect, it, onTestFinished } from 'vitest';
import { openCache } from '../../src/server/open-cache.ts';
import { makeLog } from '../support/model.ts';

const open = (name: string, settings: Readonly<Record<string, string>>, log = makeLog()) => {
  const cache = openCache(name, new Map(Object.entries(settings)), log);
  onTestFinished(() => cache.close());
  return cache;
};

describe('openCache', () => {
  it('opens a local cache of the size that is asked for', () => {
    const cache = open('local', { size: '4096' });
    expect([cache.name, cache.largestEntryBytes, cache.isShared]).toEqual(['local', 4096, false]);
  });

  it('opens a cache in Redis, there or not', () => {
    const log = makeLog();
    expect(open('redis', { host: '127.0.0.1', port: '1', sni: 'redis.example' }, log).name).toBe('redis');
    expect(log.lines[0]).toBe('warning --cache-config=redis,sni=… has no effect without --cache-config=redis,tls_enabled=true');
  });

  it.each([
    ['local', {}, "Failed to initialize LocalCache: config didn't contain a valid 'size' field."],
    ['redis', { host: 'redis' }, "Failed to initialize RedisCache, didn't specify address."],
    ['memcached', { host: 'a' }, "unable to find 'libtritoncache_memcached.so' for cache"],
    ['local', { size: '1', color: 'red' }, "cache 'local' has no setting 'color'"],
  ])('refuses %s with %j', (name, settings, why) => {
    expect(() => openCache(name, new Map(Object.entries(settings)), makeLog())).toThrow(why);
  });
});
