import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Server } from '../../src/index.ts';
import type { ModelStatistics } from '../../src/streams/inference/statistics.ts';
import { GrpcClient } from '../frontends/grpc/support/client.ts';
import { parseExposition } from '../support/parse-exposition.ts';
import { askSquare, squareConfig } from './support/decoupled-models.ts';
import { identityConfig, type ModelRepository, modelRepository } from './support/model-repository.ts';

const limited = 'instance_group { count: 1 rate_limiter { resources { name: "R" count: 1 } } }';
const idle = 'max_sequence_idle_microseconds: 60000000';
const ready = 'control_input { name: "READY" control { kind: CONTROL_SEQUENCE_READY int32_false_true: [ 0, 1 ] } }';

const models = {
  plain: identityConfig(),
  dynamic: `${identityConfig()} dynamic_batching { priority_levels: 2 default_priority_level: 1 } ${limited}`,
  direct: `${identityConfig()} sequence_batching { ${idle} direct { } ${ready} }`,
  oldest: `${identityConfig()} sequence_batching { ${idle} oldest { max_candidate_sequences: 2 } }`,
  cached: `${identityConfig()} dynamic_batching { } response_cache { enable: true }`,
  square: squareConfig(),
};

let repository: ModelRepository;
let server: Server;
let client: GrpcClient;

beforeAll(async () => {
  repository = await modelRepository(models);
  const local = { address: '127.0.0.1', port: 0 };
  server = await Server.start({
    modelRepository: repository.path,
    http: local,
    grpc: local,
    metrics: local,
    cache: { name: 'local', size: 2 ** 20 },
    models: { rateLimit: { mode: 'execution_count', resources: [] } },
    log: { error: false, warning: false },
  });
  client = new GrpcClient(server.ports.grpc ?? 0);
});

afterAll(async () => {
  client.close();
  await server.close();
  await repository[Symbol.asyncDispose]();
});

const url = (path: string): string => `http://127.0.0.1:${server.ports.http}/v2/models/${path}`;

/** The status of the answer to a request with one element. */
const ask = async (model: string, parameters: Readonly<Record<string, unknown>> = {}): Promise<number> => {
  const inputs = [{ name: 'INPUT0', datatype: 'FP32', shape: [1, 1], data: [1.5] }];
  const response = await fetch(url(`${model}/infer`), { method: 'POST', body: JSON.stringify({ inputs, parameters }) });
  await response.arrayBuffer();
  return response.status;
};

const overHttp = async (model: string): Promise<ModelStatistics> => {
  const { model_stats: all }: { readonly model_stats: readonly ModelStatistics[] } = JSON.parse(
    await (await fetch(url(`${model}/stats`))).text(),
  );
  const [statistics] = all;
  if (statistics === undefined || all.length !== 1) throw new Error(`${all.length} entries for ${model}`);
  return statistics;
};

/** As gRPC's 64-bit integers read. */
const inDecimal = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value), (_key, each: unknown) => (typeof each === 'number' ? String(each) : each));

const counters = async (model: string) => {
  const text = await (await fetch(`http://127.0.0.1:${server.ports.metrics}/metrics`)).text();
  const { values } = parseExposition(text);
  const of = (name: string, labels = '') => values.get(`nv_${name}{model="${model}",${labels}version="1"}`);
  const failures = ['REJECTED', 'CANCELED', 'BACKEND', 'OTHER'].map((reason) => of('inference_request_failure', `reason="${reason}",`));
  return { of, failures };
};

/** What the steps of a sequence say. */
const steps = (id: number | string) => [
  { sequence_id: id, sequence_start: true },
  { sequence_id: id },
  { sequence_id: id, sequence_end: true },
];

const asked: Readonly<Record<string, () => Promise<readonly number[]>>> = {
  plain: async () => [await ask('plain'), await ask('plain')],
  dynamic: () => Promise.all([ask('dynamic', { priority: 1 }), ask('dynamic', { priority: 2 }), ask('dynamic')]),
  direct: async () => {
    const statuses = [];
    // The second sequence has the second row.
    for (const step of [steps(1)[0], ...steps(2), steps(1)[2], { sequence_id: 3 }]) statuses.push(await ask('direct', step));
    return statuses;
  },
  oldest: async () => {
    const statuses = [];
    for (const step of steps('text')) statuses.push(await ask('oldest', step));
    return statuses;
  },
  cached: async () => [await ask('cached'), await ask('cached')],
  square: async () => {
    const stream = client.stream();
    stream.send(askSquare('square', 'a', 2));
    stream.send(askSquare('square', 'b', 0));
    const { messages } = await stream.finish();
    return messages.map(() => 200);
  },
};

/** Requests that succeeded, rows and executions, cache hits; executions by rows. */
const expected: Readonly<Record<string, readonly unknown[]>> = {
  plain: [2, 2, 2, 0, [[1, 2]]],
  direct: [
    5,
    5,
    5,
    0,
    [
      [1, 2],
      [2, 3],
    ],
  ],
  oldest: [3, 3, 3, 0, [[1, 3]]],
  cached: [2, 1, 1, 1, [[1, 1]]],
  square: [2, 2, 2, 0, [[1, 2]]],
};

describe('statistics', () => {
  it.each(Object.keys(models))('of %s are the same over HTTP, over gRPC and in a scrape', async (model) => {
    const statuses = (await asked[model]?.()) ?? [];
    expect(statuses.filter((status) => status !== 200)).toEqual(model === 'direct' ? [400] : []);
    const statistics = await overHttp(model);
    const { inference_stats: stats } = statistics;
    expect((await client.call('ModelStatistics', { name: model })).model_stats).toEqual([inDecimal(statistics)]);

    const { of, failures } = await counters(model);
    expect(of('inference_request_success')).toBe(stats.success.count);
    expect(of('inference_count')).toBe(statistics.inference_count);
    expect(of('inference_exec_count')).toBe(statistics.execution_count);
    expect(of('inference_request_duration_us')).toBe(Math.trunc(stats.success.ns / 1000));
    expect(of('inference_queue_duration_us')).toBe(Math.trunc(stats.queue.ns / 1000));
    expect(of('inference_compute_infer_duration_us')).toBe(Math.trunc(stats.compute_infer.ns / 1000));
    expect(of('cache_num_hits_per_model') ?? 0).toBe(stats.cache_hit.count);
    expect(of('inference_pending_request_count')).toBe(0);
    expect(failures).toEqual([0, 0, 0, 0]);

    const counts = [stats.success.count, statistics.inference_count, statistics.execution_count, stats.cache_hit.count];
    const batches = statistics.batch_stats.map(({ batch_size, compute_infer }) => [batch_size, compute_infer.count]);
    // How requests that come together fall into batches is up to the moment.
    if (model === 'dynamic') expect(counts.slice(0, 2)).toEqual([3, 3]);
    else expect([...counts, batches]).toEqual(expected[model]);
  });

  it('of a decoupled model have its answers by their index', async () => {
    const { response_stats: responses } = await overHttp('square');
    const counts = Object.entries(responses).map(
      ([index, { success, empty_response: empty, compute_infer: infer, compute_output: output }]) => [
        index,
        success.count,
        empty.count,
        infer.count,
        output.count,
      ],
    );
    // Two answers and the bare end of one request, the bare end of the other.
    expect(counts).toEqual([
      ['0', 1, 1, 2, 1],
      ['1', 1, 0, 1, 1],
      ['2', 0, 1, 1, 0],
    ]);
  });
});
