import { expect, it } from 'vitest';
import { settingsOf } from '../../src/server/options.ts';

it('reads what a cache is told as text', () => {
  const { cache } = settingsOf({ modelRepository: 'models', cache: { name: 'redis', host: 'localhost', port: 6379, tls_enabled: true } });
  expect(cache).toEqual({
    name: 'redis',
    settings: new Map([
      ['host', 'localhost'],
      ['port', '6379'],
      ['tls_enabled', 'true'],
    ]),
  });
  expect(settingsOf({ modelRepository: 'models' }).cache).toBeUndefined();
});

it('refuses a cache that there is not', () => {
  expect(() => settingsOf({ modelRepository: 'models', cache: { name: 'disk' } })).toThrow(
    "unable to find 'libtritoncache_disk.so' for cache",
  );
  expect(() => settingsOf({ modelRepository: 'models', cache: { name: 'local', sise: 1 } })).toThrow("cache 'local' has no setting 'sise'");
});
