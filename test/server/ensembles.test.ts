import { status } from '@grpc/grpc-js';
import { firstValueFrom, lastValueFrom, toArray } from 'rxjs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Server } from '../../src/index.ts';
import { tensorFrom } from '../../src/streams/tensors/tensor-from-values.ts';
import { tensorStrings, tensorValues } from '../../src/streams/tensors/tensor-values.ts';
import { GrpcClient } from '../frontends/grpc/support/client.ts';
import { connectClient } from '../frontends/websocket/support/client.ts';
import { ensembleModel, identityModel, type StepText } from '../repository/support/ensembles.ts';
import type { Files } from '../repository/support/folders.ts';
import { addSub, writeModel } from '../support/onnx-models.ts';
import { type ModelRepository, modelRepository } from './support/model-repository.ts';

const four = 'TYPE_FP32 dims: 4';
const batched = { rest: 'max_batch_size: 8 dynamic_batching { }' };

/** Sum and difference, the sum by way of a second model, and from these twice the inputs. */
const doubling: readonly StepText[] = [
  { model: 'addsub', in: { INPUT0: 'A', INPUT1: 'B' }, out: { OUTPUT0: 'sum', OUTPUT1: 'difference' } },
  { model: 'echo', in: { X: 'sum' }, out: { Y: 'echoed' } },
  { model: 'addsub', in: { INPUT0: 'echoed', INPUT1: 'difference' }, out: { OUTPUT0: 'A2', OUTPUT1: 'B2' } },
];
const twice = { in: { A: four, B: four }, out: { A2: four, B2: four }, rest: 'max_batch_size: 8' };

const repeatIn = { IN: 'TYPE_INT32 dims: -1', DELAY: 'TYPE_UINT32 dims: -1', WAIT: 'TYPE_UINT32 dims: 1' };
const repeating: readonly StepText[] = [
  { model: 'repeat', in: { IN: 'IN', DELAY: 'DELAY', WAIT: 'WAIT' }, out: { OUT: 'n' } },
  { model: 'int', in: { X: 'n' }, out: { Y: 'OUT' } },
];
const repeatConfig = `backend: "repeat" model_transaction_policy { decoupled: true }
  input { name: "IN" data_type: TYPE_INT32 dims: -1 } input { name: "DELAY" data_type: TYPE_UINT32 dims: -1 }
  input { name: "WAIT" data_type: TYPE_UINT32 dims: 1 }
  output { name: "OUT" data_type: TYPE_INT32 dims: 1 } output { name: "IDX" data_type: TYPE_UINT32 dims: 1 }`;
const int = { in: { X: 'TYPE_INT32 dims: 1' }, out: { Y: 'TYPE_INT32 dims: 1' } };
const slow = 'parameters { key: "execute_delay_ms" value: { string_value: "600000" } }';
const text = { in: { X: 'TYPE_STRING dims: [ -1, 1 ]' }, out: { Y: 'TYPE_STRING dims: [ -1, 1 ]' } };
const through = (model: string, next: string): readonly StepText[] => [
  { model, in: { X: 'IN' }, out: { Y: 't' } },
  { model: next, in: { X: 't' }, out: { Y: 'OUT' } },
];

const files: Files = {
  ...identityModel('echo', { in: { X: four }, out: { Y: four }, ...batched }),
  ...identityModel('slow', { in: { X: four }, out: { Y: four }, rest: slow }),
  ...identityModel('int', int),
  ...identityModel('text', text),
  'repeat/config.pbtxt': repeatConfig,
  ...ensembleModel('double', doubling, twice),
  // A reversed list of steps is the same graph.
  ...ensembleModel('reversed', doubling.toReversed(), twice),
  ...ensembleModel(
    'quadruple',
    [
      { model: 'double', in: { A: 'A', B: 'B' }, out: { A2: 'a', B2: 'b' } },
      { model: 'reversed', in: { A: 'a', B: 'b' }, out: { A2: 'A2', B2: 'B2' } },
    ],
    twice,
  ),
  ...ensembleModel(
    'heads',
    [
      { model: 'echo', in: { X: 'IN' }, out: { Y: 'backbone' } },
      ...['p', 'q', 'r'].map((name) => ({ model: `head_${name}`, in: { X: 'backbone' }, out: { Y: name } })),
    ],
    { out: { p: four, q: four, r: four }, rest: 'max_batch_size: 8' },
  ),
  ...Object.fromEntries(
    ['p', 'q', 'r'].flatMap((name) => Object.entries(identityModel(`head_${name}`, { in: { X: four }, out: { Y: four }, ...batched }))),
  ),
  ...ensembleModel('stuck', through('echo', 'slow')),
  ...ensembleModel('many', repeating, { in: repeatIn, out: { OUT: 'TYPE_INT32 dims: 1' } }),
  ...ensembleModel('narrow', repeating, { in: repeatIn, out: { OUT: 'TYPE_INT32 dims: 1' } }, 'max_inflight_requests: 4'),
  ...ensembleModel('texts', through('text', 'text'), {
    in: { IN: 'TYPE_STRING dims: [ -1, 1 ]' },
    out: { OUT: 'TYPE_STRING dims: [ -1, 1 ]' },
  }),
};

const isConfig = ([path]: readonly [string, unknown]): boolean => path.endsWith('config.pbtxt');

let repository: ModelRepository;
let server: Server;
let grpc: GrpcClient;

beforeAll(async () => {
  const configs = Object.entries(files).filter(isConfig);
  repository = await modelRepository(Object.fromEntries(configs.map(([path, config]) => [path.split('/')[0] ?? '', String(config)])));
  const config = `max_batch_size: 8 dynamic_batching { } ${['INPUT0', 'INPUT1'].map((name) => `input { name: "${name}" data_type: ${four} }`).join(' ')} ${['OUTPUT0', 'OUTPUT1'].map((name) => `output { name: "${name}" data_type: ${four} }`).join(' ')}`;
  await writeModel(repository.path, 'addsub', { onnx: addSub({ datatype: 'FP32', dims: ['batch', 4] }), config });
  const local = { address: '127.0.0.1', port: 0 };
  server = await Server.start({ modelRepository: repository.path, http: local, grpc: local, log: { info: false } });
  grpc = new GrpcClient(server.ports.grpc ?? 0);
});

afterAll(async () => {
  grpc.close();
  await server.close();
  await repository[Symbol.asyncDispose]();
});

const url = (path: string): string => `http://127.0.0.1:${server.ports.http}/v2/models/${path}`;
const pair = (a: readonly number[], b: readonly number[]) =>
  [
    ['A', a],
    ['B', b],
  ].map(([name, data]) => ({ name, datatype: 'FP32', shape: [1, 4], data }));
const a = [1, 2, 3, 4];
const b = [5, 6, 7, 8];
const doubled = [
  [2, 4, 6, 8],
  [10, 12, 14, 16],
];
const grpcPair = (model: string) => ({
  model_name: model,
  inputs: [
    ['A', a],
    ['B', b],
  ].map(([name, data]) => ({ name, datatype: 'FP32', shape: [1, 4], contents: { fp32_contents: data } })),
});
const floats = (raw: unknown): readonly (readonly number[])[] =>
  (raw as readonly Buffer[]).map((bytes) => [...new Float32Array(new Uint8Array(bytes).buffer)]);
const idle = (model: string): Promise<void> =>
  expect
    .poll(
      () =>
        server
          .graphs()
          .find((graph) => graph.model === model)
          ?.stages.map(({ queued, running }) => queued + running),
      { interval: 5, timeout: 10_000 },
    )
    .toSatisfy((counts: readonly number[]) => counts.every((count) => count === 0));

describe('an ensemble of models in threads and in place', () => {
  it.each(['double', 'reversed'])('%s answers over HTTP', async (model) => {
    const response = await fetch(url(`${model}/infer`), { method: 'POST', body: JSON.stringify({ id: 'h', inputs: pair(a, b) }) });
    const answer = JSON.parse(await response.text());
    expect(answer).toMatchObject({ id: 'h', model_name: model, model_version: '1' });
    expect(answer.outputs.map(({ name, data }: { name: string; data: number[] }) => [name, data])).toEqual([
      ['A2', doubled[0]],
      ['B2', doubled[1]],
    ]);
  });

  it('answers over gRPC, alone and in a stream', async () => {
    const alone = await grpc.infer(grpcPair('double'));
    expect(floats(alone.raw_output_contents)).toEqual(doubled);
    const stream = grpc.stream();
    for (let request = 0; request < 20; request++) stream.send(grpcPair('double'));
    const { messages } = await stream.finish();
    expect(messages.length).toBe(20);
    for (const { infer_response } of messages) {
      const { raw_output_contents } = infer_response as { raw_output_contents: unknown };
      expect(floats(raw_output_contents)).toEqual(doubled);
    }
  });

  it('answers over WebSocket', async () => {
    const client = await connectClient(`ws://127.0.0.1:${server.ports.http}/v2/models/double/stream`);
    client.send({ id: 'w', inputs: pair(a, b) });
    const { json } = await client.receive();
    expect(json.outputs.map(({ data }) => data)).toEqual(doubled);
    await client.close();
  });

  it('answers in process, by way of other ensembles too, and only what was asked for', async () => {
    const inputs = { A: { shape: [2, 4], values: [...a, ...b] }, B: { shape: [2, 4], values: [...b, ...a] } };
    const answer = await server.model('quadruple').inferOnce({ inputs, outputs: ['B2'] });
    expect([...answer.outputs].map(([name, tensor]) => [name, tensor.shape, [...tensorValues(tensor)]])).toEqual([
      ['B2', [2, 4], [...b, ...a].map((value) => 4 * value)],
    ]);
  });

  it('shows what it is made of', async () => {
    const graph = JSON.parse(await (await fetch(url('double/versions/1/graph'))).text());
    expect(
      graph.stages.map(({ name, queued, running }: { name: string; queued: number; running: number }) => [name, queued, running]),
    ).toEqual([
      ['0:addsub', 0, 0],
      ['1:echo', 0, 0],
      ['2:addsub', 0, 0],
    ]);
    expect(graph.edges).toContainEqual({ from: '1:echo', to: '2:addsub', tensor: 'echoed' });
    expect(JSON.parse(await (await fetch(url('echo/graph'))).text()).edges.map(({ to }: { to: string }) => to)).toEqual([
      'queue',
      'run',
      'response',
    ]);
    expect((await fetch(url('nobody/graph'))).status).toBe(404);
    expect(await (await fetch(url('double'))).json()).toMatchObject({
      platform: 'ensemble',
      inputs: [{ name: 'A', shape: [-1, 4] }, { name: 'B' }],
    });
  });

  it('says what was wrong with a step, and with a request', async () => {
    const wrong = await fetch(url('double/infer'), {
      method: 'POST',
      body: JSON.stringify({ inputs: [...pair(a, b), { name: 'C', datatype: 'FP32', shape: [1, 4], data: a }] }),
    });
    expect([wrong.status, JSON.parse(await wrong.text()).error]).toEqual([
      400,
      expect.stringContaining("expected 2 inputs but got 3 inputs for model 'double'"),
    ]);
    await expect(grpc.infer({ ...grpcPair('double'), outputs: [{ name: 'Q' }] })).rejects.toMatchObject({ code: status.INVALID_ARGUMENT });
  });
});

describe('many requests at once', () => {
  it('keep their tensors apart, and are counted at each step', async () => {
    const ask = async (value: number): Promise<void> => {
      const answer = await server.model('heads').inferOnce({ inputs: { IN: { shape: [1, 4], values: [value, 1, 2, 3] } } });
      for (const tensor of answer.outputs.values()) expect([...tensorValues(tensor)]).toEqual([value, 1, 2, 3]);
    };
    await Promise.all(Array.from({ length: 100 }, (_, value) => ask(value)));
    const all = new Map((await server.statistics()).map((each) => [each.name, each]));
    for (const name of ['heads', 'head_p', 'head_q', 'head_r']) {
      expect(all.get(name)).toMatchObject({ inference_count: 100, inference_stats: { success: { count: 100 }, fail: { count: 0 } } });
    }
    expect(all.get('heads')?.execution_count).toBe(100);
    expect(all.get('head_p')?.execution_count).toBeLessThanOrEqual(100);
    const spent = (name: string) => all.get(name)?.inference_stats.compute_infer.ns ?? 0;
    expect(spent('heads')).toBeGreaterThanOrEqual(spent('head_p'));
  });

  it('of texts of many lengths come back whole', async () => {
    const texts = Array.from({ length: 87 }, (_, index) => 'aé€'.repeat((index * 7) % 23));
    const ask = async (request: number): Promise<void> => {
      const values = texts.map((each) => `${each}${request}`);
      const answer = await server.model('texts').inferOnce({ inputs: { IN: tensorFrom('BYTES', [87, 1], values) } });
      const [tensor] = answer.outputs.values();
      expect(tensor === undefined ? [] : [...tensorStrings(tensor)]).toEqual(values);
    };
    await Promise.all(Array.from({ length: 500 }, (_, request) => ask(request)));
  });
});

it('a caller who goes away cancels the step that runs', async () => {
  const stop = new AbortController();
  const asking = fetch(url('stuck/infer'), {
    method: 'POST',
    body: JSON.stringify({ inputs: [{ name: 'IN', datatype: 'FP32', shape: [4], data: a }] }),
    signal: stop.signal,
  }).catch(() => 'gone');
  const running = () =>
    server
      .graphs()
      .find(({ model }) => model === 'stuck')
      ?.stages.map(({ running }) => running);
  await expect.poll(running, { interval: 5, timeout: 10_000 }).toEqual([0, 1]);
  stop.abort();
  expect(await asking).toBe('gone');
  await idle('stuck');
  await idle('slow');
});

describe('an ensemble with a step that answers many times', () => {
  const question = (count: number) => ({
    inputs: {
      IN: { shape: [count], values: Array.from({ length: count }, (_, index) => index) },
      DELAY: { shape: [count], values: new Uint32Array(count) },
      WAIT: { shape: [1], values: [0] },
    },
  });

  it('answers in order, over a gRPC stream too', async () => {
    const answers = await lastValueFrom(server.model('many').infer(question(1000)).pipe(toArray()));
    expect(answers.flatMap(({ outputs }) => [...outputs.values()].flatMap((tensor) => [...tensorValues(tensor)]))).toEqual(
      question(1000).inputs.IN.values,
    );
    const stream = grpc.stream();
    const numbers = [4, 5, 6];
    stream.send({
      model_name: 'many',
      inputs: [
        { name: 'IN', datatype: 'INT32', shape: [3], contents: { int_contents: numbers } },
        { name: 'DELAY', datatype: 'UINT32', shape: [3], contents: { uint_contents: [0, 0, 0] } },
        { name: 'WAIT', datatype: 'UINT32', shape: [1], contents: { uint_contents: [0] } },
      ],
    });
    const { messages } = await stream.finish();
    expect(
      messages.map(({ infer_response }) => (infer_response as { raw_output_contents: Buffer[] }).raw_output_contents[0]?.readInt32LE()),
    ).toEqual(numbers);
  });

  it('is refused where one answer is the rule', async () => {
    const response = await fetch(url('many/infer'), { method: 'POST', body: JSON.stringify({ inputs: [] }) });
    expect([response.status, JSON.parse(await response.text()).error]).toEqual([
      501,
      "HTTP end point doesn't support models with decoupled transaction policy",
    ]);
    await expect(grpc.infer({ model_name: 'many' })).rejects.toMatchObject({ code: status.UNIMPLEMENTED });
  });

  it('keeps no more rows in flight than it may, whatever it has to say', async () => {
    let most = 0;
    let heard = 0;
    const stages = () => server.graphs().find(({ model }) => model === 'narrow')?.stages ?? [];
    await new Promise<void>((resolve, reject) => {
      server
        .model('narrow')
        .infer(question(10_000))
        .subscribe({
          next: () => {
            heard++;
            if (heard % 100 > 0) return;
            for (const { queued, running } of stages()) most = Math.max(most, queued, running);
          },
          error: reject,
          complete: resolve,
        });
    });
    expect(heard).toBe(10_000);
    expect(most).toBeLessThanOrEqual(4);
    await idle('narrow');
    expect(await firstValueFrom(server.model('narrow').infer(question(1)))).toBeDefined();
  });
});
