import { expect, it, onTestFinished } from 'vitest';
import { onnxruntimeBackend } from '../../src/backends/onnxruntime/onnxruntime-backend.ts';
import { workersStopped } from '../../src/backends/workers/workers-stopped.ts';
import { LocalCache } from '../../src/caches/local/local-cache.ts';
import { RedisCache } from '../../src/caches/redis/redis-cache.ts';
import { readRedisSettings } from '../../src/caches/redis/redis-settings.ts';
import type { InferRequest } from '../../src/streams/inference/request.ts';
import type { ResponseCache } from '../../src/streams/inference/response-cache.ts';
import { makeLog } from '../support/model.ts';
import { node, onnxModel, writeModel } from '../support/onnx-models.ts';
import { RedisServer } from '../support/redis-server.ts';
import { until } from '../support/until.ts';
import { folderOf } from './support/folders.ts';
import { newRepository } from './support/open-repository.ts';
import { ask, fp32, requestTo } from './support/requests.ts';

const rows = (name: string) => ({ name, datatype: 'FP32' as const, dims: ['batch', 2] });

/** ABS and NEG of INPUT, or both the other way round. */
const content = ([first, second]: readonly [string, string]): Uint8Array =>
  onnxModel({
    inputs: [rows('INPUT')],
    outputs: [rows('FIRST'), rows('SECOND')],
    nodes: [node(first, ['INPUT'], ['FIRST']), node(second, ['INPUT'], ['SECOND'])],
  });

const write = (root: string, ops: readonly [string, string]) =>
  writeModel(root, 'm', { onnx: content(ops), config: 'response_cache { enable: true } instance_group { count: 1 }' });

/** A server's models, for as long as `use` takes. */
const withModels = async <T>(
  root: string,
  cache: ResponseCache,
  use: (asking: { first(fields?: Partial<InferRequest>): Promise<unknown>; runs(): Promise<number | undefined> }) => Promise<T>,
): Promise<T> => {
  const backends = new Map([['onnxruntime', onnxruntimeBackend({ config: new Map(), log: makeLog() })]]);
  const { repository } = newRepository([root], { backends, cache });
  expect((await repository.load()).failure).toBeUndefined();
  const request = requestTo('m', { INPUT: fp32([1, 2], [-1, 2]) });
  try {
    return await use({
      first: async (fields = {}) => {
        const { outputs } = await ask(repository.dataPlane, { ...request, ...fields });
        return Object.fromEntries(Object.entries(outputs).map(([name, { values }]) => [name, values]));
      },
      runs: async () => (await repository.dataPlane.statistics('m', ''))[0]?.execution_count,
    });
  } finally {
    repository.close();
  }
};

const both = { FIRST: [1, 2], SECOND: [1, -2] };
const swapped = { FIRST: [1, -2], SECOND: [1, 2] };

it('never answers from content that was replaced, and answers each choice of outputs rightly', async () => {
  onTestFinished(workersStopped);
  const root = await folderOf({});
  const cache = new LocalCache({ sizeBytes: 1_000_000, log: makeLog() });
  const outputs = [{ name: 'SECOND', classification: 0 }];
  await write(root, ['Abs', 'Neg']);
  await withModels(root, cache, async ({ first, runs }) => {
    expect([await first(), await first({ outputs }), await first(), await first({ outputs })]).toEqual([
      both,
      { SECOND: [1, -2] },
      both,
      { SECOND: [1, -2] },
    ]);
    expect(await runs()).toBe(2);
  });
  await write(root, ['Neg', 'Abs']);
  await withModels(root, cache, async ({ first }) => {
    expect([await first(), await first({ outputs })]).toEqual([swapped, { SECOND: [1, 2] }]);
  });
  expect(cache.tally).toMatchObject({ lookups: 6, hits: 2, misses: 4 });
});

it('shares answers with other servers that have the same content, and with none that has not', async () => {
  onTestFinished(workersStopped);
  const redis = await RedisServer.start();
  onTestFinished(() => redis.stop());
  const connect = async (): Promise<RedisCache> => {
    const settings = readRedisSettings(new Map([...Object.entries({ host: '127.0.0.1', port: `${redis.port}` })]), {});
    const cache = new RedisCache({ settings, log: makeLog() });
    onTestFinished(() => cache.close());
    await until(() => cache.isUp);
    return cache;
  };
  const [here, there] = [await folderOf({}), await folderOf({})];
  for (const root of [here, there]) await write(root, ['Abs', 'Neg']);
  const cache = await connect();
  await withModels(here, cache, async ({ first, runs }) => {
    expect([await first(), await runs()]).toEqual([both, 1]);
    await until(() => cache.tally.insertMs > 0);
  });
  await withModels(there, await connect(), async ({ first, runs }) => {
    expect([await first(), await runs()]).toEqual([both, 0]);
  });
  await write(there, ['Neg', 'Abs']);
  await withModels(there, await connect(), async ({ first, runs }) => {
    expect([await first(), await runs()]).toEqual([swapped, 1]);
  });
});
