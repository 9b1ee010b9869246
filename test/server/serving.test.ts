import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';
import { status } from '@grpc/grpc-js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Server, type ServerOptions } from '../../src/index.ts';
import { type Fields, GrpcClient } from '../frontends/grpc/support/client.ts';
import { connectClient } from '../frontends/websocket/support/client.ts';
import { folderOf } from '../repository/support/folders.ts';
import { addSub, identity, slow, writeModel } from '../support/onnx-models.ts';
import { parseExposition } from '../support/parse-exposition.ts';
import { until } from '../support/until.ts';
import { identityConfig } from './support/model-repository.ts';

const local = { address: '127.0.0.1', port: 0 };

/** A whole server on free ports, closed when the test ends. */
const start = async (modelRepository: string, models: ServerOptions['models'] = {}): Promise<Server> => {
  const server = await Server.start({
    modelRepository,
    http: local,
    grpc: local,
    metrics: local,
    log: { error: false, warning: false },
    models,
  });
  onTestFinished(() => server.close());
  return server;
};

const httpUrl = ({ ports }: Server): string => `http://127.0.0.1:${ports.http}/v2`;

const grpcClient = ({ ports }: Server): GrpcClient => {
  const client = new GrpcClient(ports.grpc ?? 0);
  onTestFinished(() => client.close());
  return client;
};

const tensor = { name: 'INPUT0', datatype: 'FP32', shape: [1, 1], data: [1.5] };

const infer = (server: Server, model: string, signal: AbortSignal | null = null): Promise<Response> =>
  fetch(`${httpUrl(server)}/models/${model}/infer`, { method: 'POST', body: JSON.stringify({ inputs: [tensor] }), signal });

const grpcRequest = (model: string): Fields => ({
  model_name: model,
  inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [1, 1], contents: { fp32_contents: [1.5] } }],
});

const oneInstance = 'instance_group { count: 1 }';

describe('models that do not load', () => {
  it('are told with all their reasons, and the others are served', async () => {
    const wrong = `backend: "identity" max_batch_size: -1
      input { name: "A" data_type: TYPE_FP32 dims: [ -1, 0 ] }
      output { name: "B" dims: 1 }`;
    const root = await folderOf({ 'echo/config.pbtxt': identityConfig(), 'echo/1/': '', 'wrong/config.pbtxt': wrong, 'wrong/1/': '' });
    await writeModel(root, 'gpu', { onnx: addSub(), config: 'instance_group { kind: KIND_GPU }' });
    const server = await start(root, { exitOnError: false });
    const index = await fetch(`${httpUrl(server)}/repository/index`, { method: 'POST' });
    const entries: readonly { readonly name: string; readonly reason?: string }[] = JSON.parse(await index.text());
    const reasons = new Map(entries.map(({ name, reason }) => [name, reason]));
    expect(reasons.get('echo')).toBe(undefined);
    expect(reasons.get('gpu')).toMatch(/KIND_GPU/);
    for (const [field, line] of [
      ['max_batch_size', 1],
      ['input[0].dims', 2],
      ['output[0].data_type', 3],
    ]) {
      expect(reasons.get('wrong')).toContain(`config.pbtxt:${line}`);
      expect(reasons.get('wrong')).toContain(`field ${field}`);
    }
    expect((await fetch(`${httpUrl(server)}/health/live`)).status).toBe(200);
    expect((await fetch(`${httpUrl(server)}/health/ready`)).status).toBe(400);
    expect((await infer(server, 'gpu')).status).toBe(404);
    expect((await infer(server, 'echo')).status).toBe(200);
  });
});

describe('a model in a thread', () => {
  it('leaves the event loop to others while it runs', async () => {
    const root = await folderOf({});
    await writeModel(root, 'slow', { onnx: slow({ seconds: 2 }), config: oneInstance });
    const server = await start(root);
    const grpc = grpcClient(server);
    let isAnswered = false;
    const answer = infer(server, 'slow').finally(() => {
      isAnswered = true;
    });
    await until(() => server.graphs()[0]?.instances.busy === 1);
    for (let turn = 0; turn < 20; turn++) {
      expect((await fetch(`${httpUrl(server)}/health/live`)).status).toBe(200);
      expect(await grpc.call('ServerLive', {})).toMatchObject({ live: true });
    }
    expect(isAnswered).toBe(false);
    expect((await answer).status).toBe(200);
  });

  it('is not ready when the thread dies, and is again once another has taken its place', async () => {
    const threads = new Set<Worker>();
    const onWorker = (worker: Worker): void => {
      threads.add(worker);
      worker.once('exit', () => threads.delete(worker));
    };
    process.on('worker', onWorker);
    onTestFinished(() => void process.off('worker', onWorker));
    const root = await folderOf({});
    await writeModel(root, 'm', { onnx: identity(), config: oneInstance });
    const server = await start(root);
    const readiness = async (): Promise<number> => (await fetch(`${httpUrl(server)}/models/m/ready`)).status;
    expect((await infer(server, 'm')).status).toBe(200);
    expect(await readiness()).toBe(200);

    const [thread, ...others] = threads;
    if (thread === undefined || others.length > 0) throw new Error('expected one thread for one instance');
    const dead = once(thread, 'exit');
    void thread.terminate();
    await dead;
    expect([server.model('m').isReady(), server.isReady()]).toEqual([false, false]);
    // It waits for the next thread.
    expect((await infer(server, 'm')).status).toBe(200);
    expect([await readiness(), server.isReady()]).toEqual([200, true]);
  });
});

describe('a full queue', () => {
  /** One request runs for ten minutes, one waits, and there is no room for more. */
  const full = `${identityConfig(600_000).replace('max_batch_size: 8', 'max_batch_size: 1')}
    dynamic_batching { default_queue_policy { max_queue_size: 1 } }`;
  const names = [
    'nv_inference_pending_request_count{model="full",version="1"}',
    'weir_model_instances{model="full",state="busy",version="1"}',
    'weir_grpc_calls',
    'weir_grpc_requests_in_flight',
    'weir_grpc_outbox_bytes',
    'weir_grpc_waiting_calls',
    'weir_grpc_message_bytes',
    'weir_http_waiting_requests',
    'weir_http_body_bytes',
    'weir_websocket_connections',
    'weir_websocket_requests_in_flight',
    'weir_websocket_outbox_bytes',
  ];
  const allZero = names.map((name) => [name, 0]);

  const startFull = async () => {
    const server = await start(await folderOf({ 'full/config.pbtxt': full, 'full/1/': '' }));
    const scrape = async () => parseExposition(await (await fetch(`http://127.0.0.1:${server.ports.metrics}/metrics`)).text()).values;
    const gauges = async () => {
      const values = await scrape();
      return names.map((name) => [name, values.get(name)]);
    };
    const failures = async () => {
      const values = await scrape();
      return ['REJECTED', 'CANCELED'].map((reason) =>
        values.get(`nv_inference_request_failure{model="full",reason="${reason}",version="1"}`),
      );
    };
    /** Of five requests three have been refused: the other two are inside, and nothing is once they have been taken back. */
    const settles = async (inFlight: string | undefined, takeBack: () => unknown): Promise<void> => {
      const values = await scrape();
      expect(values.get('nv_inference_pending_request_count{model="full",version="1"}')).toBe(1);
      if (inFlight !== undefined) expect(values.get(inFlight)).toBe(2);
      await takeBack();
      await expect.poll(gauges, { interval: 5, timeout: 10_000 }).toEqual(allZero);
      expect(await failures()).toEqual([3, 2]);
    };
    return { server, settles };
  };

  /** What comes of all but two, and in the end of those as well. */
  const firstThree = async <T>(answers: readonly Promise<T>[]): Promise<readonly T[]> => {
    const settled: T[] = [];
    for (const answer of answers) void answer.then((outcome) => settled.push(outcome));
    await until(() => settled.length === 3);
    return settled.slice();
  };

  it('is 503 over HTTP', async () => {
    const { server, settles } = await startFull();
    const stop = new AbortController();
    const answers = Array.from({ length: 5 }, () =>
      infer(server, 'full', stop.signal).then(
        async (response) => [response.status, await response.json()],
        () => ['taken back'],
      ),
    );
    const error = '[request id: <id_unknown>] Exceeds maximum queue size';
    expect(await firstThree(answers)).toEqual(Array(3).fill([503, { error }]));
    await settles(undefined, () => stop.abort());
  });

  it('is UNAVAILABLE over gRPC', async () => {
    const { server, settles } = await startFull();
    const client = grpcClient(server);
    const calls = Array.from({ length: 5 }, () => client.cancellable(grpcRequest('full')));
    const answers = calls.map(({ answer }) => answer.catch(({ code, details }) => [code, details]));
    const details = '[request id: <id_unknown>] Exceeds maximum queue size';
    expect(await firstThree(answers)).toEqual(Array(3).fill([status.UNAVAILABLE, details]));
    await settles('weir_grpc_requests_in_flight', () => {
      for (const { cancel } of calls) cancel();
    });
  });

  it('is UNAVAILABLE over WebSocket', async () => {
    const { server, settles } = await startFull();
    const client = await connectClient(`ws://127.0.0.1:${server.ports.http}/v2/models/full/stream`);
    const ids = ['a', 'b', 'c', 'd', 'e'];
    for (const id of ids) client.send({ id, inputs: [tensor] });
    for (const id of ids.slice(2)) {
      const error = `[request id: ${id}] Exceeds maximum queue size`;
      expect((await client.receive()).json).toEqual({ id, error, code: 'UNAVAILABLE', parameters: { triton_final_response: true } });
    }
    await settles('weir_websocket_requests_in_flight', () => client.close());
  });
});

it('shares nothing with another server in the same process', async () => {
  const folder = () => folderOf({ 'echo/config.pbtxt': identityConfig(), 'echo/1/': '' });
  const first = await start(await folder());
  const second = await start(await folder());
  expect(new Set([...Object.values(first.ports), ...Object.values(second.ports)]).size).toBe(6);
  const counted = async (server: Server) =>
    parseExposition(await server.metrics()).values.get('nv_inference_count{model="echo",version="1"}');
  expect((await infer(first, 'echo')).status).toBe(200);
  expect(await grpcClient(first).infer(grpcRequest('echo'))).toMatchObject({ model_name: 'echo' });
  expect((await infer(second, 'echo')).status).toBe(200);
  expect([await counted(first), await counted(second)]).toEqual([2, 1]);
  await first.close();
  await expect(infer(first, 'echo')).rejects.toThrow();
  expect((await infer(second, 'echo')).status).toBe(200);
  expect(second.isReady()).toBe(true);
});
