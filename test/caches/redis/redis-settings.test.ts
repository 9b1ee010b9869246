import { describe, expect, it } from 'vitest';
import { readRedisSettings, unusedTlsSettings } from '../../../src/caches/redis/redis-settings.ts';

const read = (settings: Readonly<Record<string, string>>, environment = {}) =>
  readRedisSettings(new Map(Object.entries(settings)), environment);

const address = { host: 'redis', port: '6379' };

describe('readRedisSettings', () => {
  it("fills in Triton's defaults", () => {
    expect(read(address)).toEqual({
      host: 'redis',
      port: 6379,
      username: '',
      password: '',
      database: 0,
      connectTimeoutMs: 0,
      socketTimeoutMs: 0,
      waitTimeoutMs: 1000,
      poolSize: 1,
      tls: undefined,
    });
  });

  it.each([{}, { host: 'redis' }, { port: '6379' }, { host: '', port: '6379' }])('wants an address, which %j is not', (settings) => {
    expect(() => read(settings)).toThrow(
      "Failed to initialize RedisCache, didn't specify address. Must at a minimum specify 'host' and 'port' in the configuration - e.g. tritonserver --cache-config redis,host=redis --cache-config redis,port=6379 --model-repository=/models ...",
    );
  });

  it('takes credentials of the environment where the settings have none', () => {
    const environment = { TRITONCACHE_REDIS_USERNAME: 'eve', TRITONCACHE_REDIS_PASSWORD: 'e' };
    expect(read(address, environment)).toMatchObject({ username: 'eve', password: 'e' });
    expect(read({ ...address, user: 'sam', password: 's' }, environment)).toMatchObject({ username: 'sam', password: 's' });
  });

  it.each([
    ['port', '0', 'an integer from 1 to 65535'],
    ['port', 'http', 'an integer from 1 to 65535'],
    ['db', '-1', 'an integer from 0 to 65535'],
    ['pool_size', '0', 'an integer from 1 to 1024'],
    ['wait_timeout', '1s', 'an integer from 0 to 2147483647'],
    ['connect_timeout', '3000000000', 'an integer from 0 to 2147483647'],
    ['socket_timeout', '', 'an integer from 0 to 2147483647'],
    ['tls_enabled', 'yes', 'true or false'],
  ])('refuses %s=%s', (name, value, wish) => {
    expect(() => read({ ...address, [name]: value })).toThrow(
      `Failed to initialize RedisCache: setting '${name}' wants ${wish}, got '${value}'`,
    );
  });

  it.each(['cert', 'key', 'cacert', 'cacert_dir'])('refuses a %s that cannot be read', (name) => {
    expect(() => read({ ...address, tls_enabled: '1', [name]: '/nowhere/at/all' })).toThrow(`'/nowhere/at/all' of setting '${name}'`);
  });
});

it('knows which settings of TLS count for nothing', () => {
  const settings = { ...address, cert: 'a', sni: 'b' };
  expect(unusedTlsSettings(new Map(Object.entries(settings)))).toEqual(['cert', 'sni']);
  expect(unusedTlsSettings(new Map(Object.entries({ ...settings, tls_enabled: 'true' })))).toEqual([]);
});
