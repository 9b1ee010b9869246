import { describe, expect, it, onTestFinished } from 'vitest';
import { Server, type ServerOptions } from '../../src/index.ts';
import { folderOf } from '../repository/support/folders.ts';
import { parseExposition } from '../support/parse-exposition.ts';
import { RedisServer } from '../support/redis-server.ts';
import { identityConfig } from './support/model-repository.ts';

const local = { address: '127.0.0.1', port: 0 };

const start = async (modelRepository: string, cache: ServerOptions['cache']): Promise<Server> => {
  const server = await Server.start({
    modelRepository,
    http: local,
    metrics: local,
    log: { error: false, warning: false },
    ...(cache === undefined ? {} : { cache }),
  });
  onTestFinished(() => server.close());
  return server;
};

const infer = async (server: Server, value: number, model = 'm'): Promise<unknown> => {
  const tensor = { name: 'INPUT0', datatype: 'FP32', shape: [1, 1], data: [value] };
  const response = await fetch(`http://127.0.0.1:${server.ports.http}/v2/models/${model}/infer`, {
    method: 'POST',
    body: JSON.stringify({ id: `${value}`, inputs: [tensor] }),
  });
  return response.json();
};

const answerOf = (value: number, model = 'm') => ({
  id: `${value}`,
  model_name: model,
  model_version: '1',
  outputs: [{ name: 'OUTPUT0', datatype: 'FP32', shape: [1, 1], data: [value] }],
});

const metrics = async ({ ports }: Server): Promise<ReadonlyMap<string, number>> =>
  parseExposition(await (await fetch(`http://127.0.0.1:${ports.metrics}/metrics`)).text()).values;

const cached = `${identityConfig()} response_cache { enable: true }`;

const repository = () => folderOf({ 'm/config.pbtxt': cached, 'm/1/': '', 'plain/config.pbtxt': identityConfig(), 'plain/1/': '' });

describe('a server with a cache', () => {
  it('answers a model that uses it from it, and counts as Triton does', async () => {
    const server = await start(await repository(), { name: 'local', size: 100_000 });
    for (const value of [1, 1, 2, 1]) expect(await infer(server, value)).toEqual(answerOf(value));
    for (const value of [1, 1]) expect(await infer(server, value, 'plain')).toEqual(answerOf(value, 'plain'));
    const values = await metrics(server);
    const of = (name: string, model = 'm') => values.get(`${name}{model="${model}",version="1"}`);
    expect([of('nv_inference_request_success'), of('nv_inference_count'), of('nv_inference_exec_count')]).toEqual([4, 2, 2]);
    expect([of('nv_cache_num_hits_per_model'), of('nv_cache_num_misses_per_model')]).toEqual([2, 2]);
    expect([of('nv_inference_count', 'plain'), of('nv_cache_num_hits_per_model', 'plain')]).toEqual([2, undefined]);
    expect(['lookups', 'hits', 'misses', 'entries', 'evictions'].map((name) => values.get(`nv_cache_num_${name}`))).toEqual([
      4, 2, 2, 2, 0,
    ]);
    expect(values.get('weir_model_queue_limit{model="m",stage="cache",version="1"}')).toBeGreaterThan(0);
  });

  it('runs the model each time without a cache, as Triton does', async () => {
    const server = await start(await repository(), undefined);
    for (const value of [1, 1]) expect(await infer(server, value)).toEqual(answerOf(value));
    const values = await metrics(server);
    expect(values.get('nv_inference_count{model="m",version="1"}')).toBe(2);
    expect([...values.keys()].filter((name) => name.startsWith('nv_cache'))).toEqual([]);
  });

  it('shares it by Redis with other servers, and goes on without', async () => {
    const redis = await RedisServer.start();
    onTestFinished(() => redis.stop());
    const cache = { name: 'redis', host: '127.0.0.1', port: redis.port, wait_timeout: 300 };
    const [root, other] = [await repository(), await repository()];
    const [one, two] = [await start(root, cache), await start(other, cache)];
    const hits = async (server: Server): Promise<number> => (await metrics(server)).get('nv_cache_num_hits') ?? 0;
    let value = 1;
    // Until both are connected: each value is new to both.
    while ((await hits(two)) === 0) {
      value++;
      expect(await infer(one, value)).toEqual(answerOf(value));
      expect(await infer(two, value)).toEqual(answerOf(value));
    }
    redis.freeze();
    expect(await infer(one, value)).toEqual(answerOf(value));
    await redis.kill();
    expect(await infer(one, value)).toEqual(answerOf(value));
    await redis.run();
    const before = await hits(one);
    while ((await hits(one)) === before) expect(await infer(one, value)).toEqual(answerOf(value));
    const values = await metrics(one);
    expect(values.get('nv_cache_num_lookups')).toBe((values.get('nv_cache_num_hits') ?? 0) + (values.get('nv_cache_num_misses') ?? 0));
    expect(values.get('weir_cache_waiting_bytes')).toBe(0);
  });
});
