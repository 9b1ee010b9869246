import { createClient, RESP_TYPES } from '@redis/client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RedisCache } from '../../../src/caches/redis/redis-cache.ts';
import { readRedisSettings } from '../../../src/caches/redis/redis-settings.ts';
import { cacheKeys } from '../../../src/operators/cache/cache-keys.ts';
import { copyAnswer } from '../../../src/operators/cache/copy-answer.ts';
import type { RequestKey } from '../../../src/operators/cache/request-key.ts';
import type { CachedAnswers, CacheKey } from '../../../src/streams/inference/response-cache.ts';
import { Tensor } from '../../../src/streams/tensors/tensor.ts';
import { CachedModel } from '../../support/cached-model.ts';
import { makeLog, makeRequest, makeSpec } from '../../support/model.ts';
import { freePort, RedisServer } from '../../support/redis-server.ts';
import { inferResponse } from '../../support/request-fixtures.ts';
import { until } from '../../support/until.ts';

const keyOf = (fill: number): RequestKey => {
  const key = cacheKeys({ spec: makeSpec(), contentId: 'c' })(makeRequest({}, [1, 4], fill));
  if (key === undefined) throw new Error('no key');
  return key;
};

const answersOf = (...all: readonly (readonly [string, Tensor])[][]): CachedAnswers =>
  all.flatMap((outputs) => copyAnswer(makeSpec())(inferResponse(Object.fromEntries(outputs)), [], 1e9) ?? []);

const everyByte = Buffer.from(Array.from({ length: 256 }, (_, n) => n));

/** What can be compared of answers. */
const shown = (answers: CachedAnswers | undefined): unknown =>
  answers?.map(({ parameters, outputs }) => ({
    parameters: [...parameters],
    outputs: [...outputs].map(([name, { datatype, shape, bytes }]) => [name, datatype, shape, [...bytes]]),
  }));

describe('RedisCache', () => {
  let redis: RedisServer;
  let log: ReturnType<typeof makeLog>;
  const opened: RedisCache[] = [];

  const open = (settings: Readonly<Record<string, string>> = {}, environment = {}): RedisCache => {
    const all = new Map(Object.entries({ host: '127.0.0.1', port: `${redis.port}`, ...settings }));
    const cache = new RedisCache({ settings: readRedisSettings(all, environment), log });
    opened.push(cache);
    return cache;
  };

  const connect = async (...settings: Parameters<typeof open>): Promise<RedisCache> => {
    const cache = open(...settings);
    await until(() => cache.isUp);
    return cache;
  };

  beforeEach(async () => {
    log = makeLog();
    redis = await RedisServer.start();
  });

  afterEach(async () => {
    for (const cache of opened.splice(0)) await cache.close();
    await redis.stop();
  });

  const warnings = (): readonly string[] => log.lines.filter((line) => !line.startsWith('verbose'));

  it('gives one server the answers of another, byte for byte', async () => {
    const [writer, reader] = [await connect(), await connect({ pool_size: '3' })];
    const answers: CachedAnswers = answersOf(
      [
        ['OUT', new Tensor('BYTES', [2, 1], Buffer.concat([Buffer.of(0, 1, 0, 0), everyByte]))],
        ['a "strange"\n\u0000name\ud800', new Tensor('FP64', [0, 4], Buffer.alloc(0))],
      ],
      [],
      [['OUT', new Tensor('UINT8', [256], everyByte)]],
    ).map((answer, index) => ({
      ...answer,
      parameters: new Map<string, string | boolean | bigint | number>(
        index === 0
          ? [
              ['text', '\ud800 ünï\r\n\u0000'],
              ['yes', true],
              ['no', false],
              ['large', 2n ** 63n],
              ['number', -0],
              ['none', Number.NaN],
              ['most', Number.POSITIVE_INFINITY],
            ]
          : [],
      ),
    }));
    expect(await reader.lookup(keyOf(1))).toBeUndefined();
    await writer.insert(keyOf(1), answers);
    for (let turn = 0; turn < 4; turn++) expect(shown(await reader.lookup(keyOf(1)))).toEqual(shown(answers));
    expect(await reader.lookup(keyOf(2))).toBeUndefined();
  });

  it('keeps that a model answered nothing', async () => {
    const cache = await connect();
    await cache.insert(keyOf(1), []);
    expect(await cache.lookup(keyOf(1))).toEqual([]);
  });

  it('compares the whole key', async () => {
    const cache = await connect();
    await cache.insert(keyOf(1), answersOf([['OUT', new Tensor('UINT8', [1], Buffer.of(1))]]));
    const other = keyOf(2);
    const sameDigest: CacheKey = {
      digest: keyOf(1).digest,
      hash: other.hash,
      head: other.head,
      inputBytes: other.inputBytes,
      copyInputs: () => other.copyInputs(),
      equals: (head, inputs) => other.equals(head, inputs),
    };
    expect(await cache.lookup(sameDigest)).toBeUndefined();
  });

  it('believes nothing that is damaged, and says so once', async () => {
    const cache = await connect();
    const [key, answers] = [keyOf(1), answersOf([['OUT', new Tensor('UINT8', [4], Buffer.of(1, 2, 3, 4))]])];
    await cache.insert(key, answers);
    const client = createClient({
      socket: { host: '127.0.0.1', port: redis.port },
      commandOptions: { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } },
    });
    client.on('error', () => {});
    await client.connect();
    const [name = ''] = (await client.keys('*')).map(String);
    expect(await client.ttl(name)).toBe(-1);
    const written = await client.hGetAll(name);
    for (const [field, damaged] of [
      ['data0', 'abc'],
      ['answers', '{'],
      ['answers', '[{}]'],
      ['answers', `${written.answers}`.replace('UINT8', 'UINT9')],
      ['answers', `${written.answers}`.replace(',4]', ',5]')],
    ] as const) {
      await client.hSet(name, { ...written, [field]: damaged });
      expect(await cache.lookup(key)).toBeUndefined();
    }
    await client.del(name);
    await client.set(name, 'no hash');
    expect(await cache.lookup(key)).toBeUndefined();
    client.destroy();
    expect(warnings().length).toBe(1);
    expect(warnings()[0]).toMatch(/^warning the redis cache at 127\.0\.0\.1:\d+ failed: /);
  });

  it('runs without Redis while it is away, with one line for it, and with it again when it is back', async () => {
    const cache = await connect();
    await cache.insert(keyOf(1), answersOf([]));
    await redis.kill();
    await until(() => !cache.isUp);
    expect(await cache.lookup(keyOf(1))).toBeUndefined();
    expect(await cache.insert(keyOf(1), answersOf([]))).toBeUndefined();
    await until(() => warnings().length > 0);
    await redis.run();
    await until(() => cache.isUp);
    expect(await cache.lookup(keyOf(1))).toBeUndefined();
    await cache.insert(keyOf(1), answersOf([]));
    expect(await cache.lookup(keyOf(1))).toBeDefined();
    expect(warnings().length).toBe(1);
    expect(warnings()[0]).toMatch(/ is away, and requests run without it: /);
    await redis.kill();
    await until(() => warnings().length > 1);
  });

  it('begins without Redis, and finds it when it comes', async () => {
    await redis.kill();
    const cache = open();
    expect(cache.lookup(keyOf(1))).toBeUndefined();
    await until(() => warnings().length > 0);
    await redis.run();
    await until(() => cache.isUp);
    await cache.insert(keyOf(1), answersOf([]));
    expect(await cache.lookup(keyOf(1))).toBeDefined();
  });

  it('gives a request up that Redis does not answer in time, and asks it no more until it does', async () => {
    const cache = await connect({ wait_timeout: '150' });
    await cache.insert(keyOf(1), answersOf([]));
    redis.freeze();
    const [found, inserted] = [cache.lookup(keyOf(1)), cache.insert(keyOf(2), answersOf([]))];
    expect(cache.waitingBytes).toBeGreaterThan(0);
    expect(await found).toBeUndefined();
    await inserted;
    expect(cache.waitingBytes).toBe(0);
    expect(cache.isUp).toBe(false);
    expect(cache.lookup(keyOf(1))).toBeUndefined();
    expect(warnings()).toEqual([
      `warning the redis cache at 127.0.0.1:${redis.port} is away, and requests run without it: no answer within 150 ms`,
    ]);
    redis.thaw();
    await until(() => cache.isUp);
    expect(await cache.lookup(keyOf(1))).toBeDefined();
    expect(warnings().length).toBe(1);
  });

  it('works behind a model, whatever becomes of Redis', async () => {
    const cache = await connect({ socket_timeout: '150' });
    const model = new CachedModel({ cache, log });
    const ask = (id: string) => model.ask(makeRequest({ id }, [1, 4], 1));
    const first = ask('a');
    await until(() => model.runs.length === 1);
    model.last.answer([1, 2]);
    expect(first.answers).toEqual([{ id: 'a', bytes: [1, 2], isLast: true }]);
    await until(() => model.events.length === 1);
    const second = ask('b');
    await until(() => second.isComplete);
    expect([second.answers, model.runs.length]).toEqual([[{ id: 'b', bytes: [1, 2], isLast: true }], 1]);
    redis.freeze();
    const third = ask('c');
    await until(() => model.runs.length === 2);
    model.last.answer([3]);
    expect(third.isComplete).toBe(true);
    await redis.kill();
    ask('d');
    expect(model.runs.length).toBe(3);
    expect(cache.tally).toMatchObject({ lookups: 4, hits: 1, misses: 3 });
  });

  it('sends no more than may be on its way', async () => {
    const cache = await connect({ wait_timeout: '150' });
    redis.freeze();
    const memory = Buffer.alloc(cache.waitingBytesLimit - 1000);
    const large = [{ parameters: new Map(), outputs: new Map(), memory }];
    const first = cache.insert(keyOf(1), large);
    const waiting = cache.waitingBytes;
    expect(cache.insert(keyOf(2), [{ parameters: new Map(), outputs: new Map(), memory: Buffer.alloc(2000) }])).toBeUndefined();
    expect(cache.waitingBytes).toBe(waiting);
    await first;
    redis.thaw();
  });

  it('lets go of what waits when it is closed', async () => {
    const cache = await connect({ wait_timeout: '0' });
    redis.freeze();
    const found = cache.lookup(keyOf(1));
    await cache.close();
    expect(await found).toBeUndefined();
    expect(cache.lookup(keyOf(1))).toBeUndefined();
    redis.thaw();
    expect(warnings()).toEqual([]);
  });

  it('uses the database that it is told', async () => {
    const [one, other] = [await connect({ db: '3' }), await connect()];
    await one.insert(keyOf(1), answersOf([]));
    expect(await one.lookup(keyOf(1))).toBeDefined();
    expect(await other.lookup(keyOf(1))).toBeUndefined();
  });

  describe('with a password', () => {
    beforeEach(async () => {
      await redis.stop();
      redis = await RedisServer.start('--requirepass', 'secret');
    });

    it.each([
      ['of the settings', { password: 'secret' }, {}],
      ['of the environment', {}, { TRITONCACHE_REDIS_PASSWORD: 'secret', TRITONCACHE_REDIS_USERNAME: 'default' }],
      ['of the settings rather than of the environment', { password: 'secret' }, { TRITONCACHE_REDIS_PASSWORD: 'wrong' }],
    ])('comes in with that %s', async (_, settings, environment) => {
      const cache = await connect(settings, environment);
      await cache.insert(keyOf(1), answersOf([]));
      expect(await cache.lookup(keyOf(1))).toBeDefined();
    });

    it.each([
      ['a wrong one', { password: 'wrong' }, /WRONGPASS/],
      ['none', {}, /NOAUTH/],
    ])('runs without Redis with %s, and says why, without it', async (_, settings, why) => {
      const cache = open(settings);
      await until(() => warnings().length > 0);
      expect(cache.lookup(keyOf(1))).toBeUndefined();
      expect(cache.isUp).toBe(false);
      expect(warnings()[0]).toMatch(why);
      expect(warnings().join()).not.toContain('wrong');
    });
  });

  it('is away while nobody listens at its port', async () => {
    const port = await freePort();
    open({ port: `${port}` });
    await until(() => warnings().length > 0);
    expect(warnings()[0]).toMatch(/ECONNREFUSED/);
  });
});
