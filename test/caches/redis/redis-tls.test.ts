import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RedisCache } from '../../../src/caches/redis/redis-cache.ts';
import { readRedisSettings } from '../../../src/caches/redis/redis-settings.ts';
import { makeLog } from '../../support/model.ts';
import { RedisServer } from '../../support/redis-server.ts';
import { until } from '../../support/until.ts';

/** One certificate, signed by itself, that both sides show and trust. Its name is not the address. */
const makeCertificate = (directory: string): { readonly cert: string; readonly key: string } => {
  const [cert, key] = [join(directory, 'cert.pem'), join(directory, 'key.pem')];
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  const name = ['-subj', '/CN=weir.test', '-addext', 'subjectAltName=DNS:weir.test'];
  execFileSync('openssl', ['req', ...kind, ...name, '-keyout', key, '-out', cert], { stdio: 'ignore' });
  return { cert, key };
};

describe('RedisCache over TLS', () => {
  const directory = mkdtempSync(join(tmpdir(), 'weir-tls-'));
  const authorities = join(directory, 'authorities');
  let files: ReturnType<typeof makeCertificate>;
  let redis: RedisServer;

  beforeAll(async () => {
    mkdirSync(authorities);
    files = makeCertificate(authorities);
    const { cert, key } = files;
    const tls = ['--tls-port', '{port}', '--tls-cert-file', cert, '--tls-key-file', key, '--tls-ca-cert-file', cert];
    redis = await RedisServer.start('--port', '0', ...tls);
  });

  afterAll(async () => {
    await redis.stop();
    rmSync(directory, { recursive: true });
  });

  const open = (settings: Readonly<Record<string, string>>) => {
    const log = makeLog();
    const all = new Map(Object.entries({ host: '127.0.0.1', port: `${redis.port}`, tls_enabled: 'true', ...settings }));
    return { cache: new RedisCache({ settings: readRedisSettings(all, {}), log }), log };
  };

  it.each([
    ['a file', () => ({ cacert: files.cert })],
    ['a directory', () => ({ cacert_dir: authorities })],
  ])('connects with the authorities of %s, its own certificate and the name to expect', async (_, trusted) => {
    const { cache } = open({ ...trusted(), cert: files.cert, key: files.key, sni: 'weir.test' });
    await until(() => cache.isUp);
    await cache.close();
  });

  it.each([
    ['an authority that is not known', () => ({ cert: files.cert, key: files.key, sni: 'weir.test' }), /self-signed certificate/],
    ['another name', () => ({ cert: files.cert, key: files.key, cacert: files.cert }), /does not match certificate/],
  ])('trusts no server with %s', async (_, settings, why) => {
    const { cache, log } = open(settings());
    await until(() => log.lines.length > 0);
    expect(log.lines[0]).toMatch(why);
    await cache.close();
  });

  it('is not let in without a certificate', async () => {
    const { cache, log } = open({ cacert: files.cert, sni: 'weir.test' });
    await until(() => log.lines.length > 0);
    expect(cache.isUp).toBe(false);
    await cache.close();
  });
});
