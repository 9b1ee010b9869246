import { setImmediate } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encode, inferenceService, messageType } from '../frontends/grpc/support/client.ts';
import { DeafClient } from '../frontends/grpc/support/deaf-client.ts';
import { connectClient } from '../frontends/websocket/support/client.ts';
import { ensembleModel, identityModel, type StepText } from '../repository/support/ensembles.ts';
import type { Files } from '../repository/support/folders.ts';
import { until } from '../support/until.ts';
import { repeatConfig, squareConfig } from './support/decoupled-models.ts';
import { EnsembleServer, grpcRequest, type Question, saidByStream } from './support/ensemble-server.ts';

const one = 'TYPE_INT32 dims: 1';
const repeatIn = { IN: 'TYPE_INT32 dims: -1', DELAY: 'TYPE_UINT32 dims: -1', WAIT: 'TYPE_UINT32 dims: 1' };
const square = (from: string, to: string): StepText => ({ model: 'square', in: { IN: from }, out: { OUT: to } });
const repeat = (to: string, model = 'repeat'): StepText => ({ model, in: { IN: 'IN', DELAY: 'DELAY', WAIT: 'WAIT' }, out: { OUT: to } });
const step = (model: string, from: string, to: string): StepText => ({ model, in: { X: from }, out: { Y: to } });
const out = { out: { OUT: one } };
const delayed = (ms: number): string => `parameters { key: "execute_delay_ms" value: { string_value: "${ms}" } }`;

/** Two to one: the sum, by way of JavaScript. */
const joining = `import { defineModel, perRequest } from 'weir/backend';
  export default defineModel({
    execute: perRequest((request) => {
      const [p, q] = ['P', 'Q'].map((name) => request.input(name, 'INT32'));
      return { outputs: { Y: { shape: p.shape, data: Int32Array.of(p.data[0] + q.data[0]) } } };
    }),
  });`;

/** Keeps its first request until it has seen the twentieth after it; its outputs lie in memory that the next request overwrites. */
const first_last = `import { defineModel, perRequest } from 'weir/backend';
  let release = () => {};
  const released = new Promise((resolve) => { release = resolve; });
  export default defineModel({
    execute: perRequest(async (request, context) => {
      const { data } = request.input('X', 'INT32');
      const value = data[0];
      if (value === 0) await released;
      if (value === 20) release();
      const out = context.allocate('INT32', [1]);
      out[0] = 1000 + value;
      return { outputs: { Y: { shape: [1], data: out } } };
    }),
  });`;

/** A generator that keeps its place among the instance's executions until it is done. */
const counting = `import { defineModel } from 'weir/backend';
  export default defineModel({
    *execute(requests) {
      for (const request of requests) {
        const [count] = request.input('X', 'INT32').data;
        for (let n = 0; n < count; n++) yield { request, outputs: { Y: { shape: [1], data: Int32Array.of(count > 1 ? 1 : 7) } } };
      }
    },
  });`;

const script = (name: string, code: string, rest: string, inputs = ['X']): Files => ({
  [`${name}/config.pbtxt`]: `backend: "javascript" instance_group { count: 1 kind: KIND_CPU } ${rest}
    ${inputs.map((input) => `input { name: "${input}" data_type: ${one} }`).join(' ')} output { name: "Y" data_type: ${one} }`,
  [`${name}/1/model.ts`]: code,
});

const decoupled = 'model_transaction_policy { decoupled: true }';
const serial = 'parameters { key: "concurrency" value: { string_value: "1" } }';

const files: Files = {
  'repeat/config.pbtxt': repeatConfig(),
  'repeat/1/': '',
  'square/config.pbtxt': squareConfig(),
  'square/1/': '',
  'square_again/config.pbtxt': squareConfig(),
  'square_again/1/': '',
  ...identityModel('fast', { in: { X: one }, out: { Y: one } }),
  ...identityModel('slow', { in: { X: one }, out: { Y: one }, rest: `max_batch_size: 64 dynamic_batching { } ${delayed(2)}` }),
  ...identityModel('stuck', { in: { X: one }, out: { Y: one }, rest: delayed(600_000) }),
  ...script('first_last', first_last, ''),
  ...script('count', counting, `${decoupled} ${serial}`),
  ...script('count_too', counting, `${decoupled} ${serial}`),
  ...script('join', joining, '', ['P', 'Q']),
  ...ensembleModel('squares', [repeat('n'), square('n', 'OUT')], { in: repeatIn, ...out }),
  ...ensembleModel('cubes', [square('IN', 'n'), { ...square('n', 'm'), model: 'square_again' }, step('fast', 'm', 'OUT')], {
    in: { IN: one },
    ...out,
  }),
  ...ensembleModel('inner', [repeat('n'), step('fast', 'n', 'OUT')], { in: repeatIn, ...out }, 'max_inflight_requests: 2'),
  ...ensembleModel('outer', [repeat('n', 'inner'), step('slow', 'n', 'OUT')], { in: repeatIn, ...out }),
  ...ensembleModel(
    'forked',
    [repeat('n'), step('fast', 'n', 'f'), step('slow', 'n', 's'), { model: 'join', in: { P: 'f', Q: 's' }, out: { Y: 'OUT' } }],
    { in: repeatIn, ...out },
  ),
  ...ensembleModel('held', [repeat('n'), step('first_last', 'n', 'OUT')], { in: repeatIn, ...out }),
  ...ensembleModel('itself', [step('count', 'IN', 'n'), step('count', 'n', 'OUT')], { in: { IN: one }, ...out }),
  ...ensembleModel('there', [step('count', 'IN', 'n'), step('count_too', 'n', 'OUT')], { in: { IN: one }, ...out }),
  ...ensembleModel('back', [step('count_too', 'IN', 'n'), step('count', 'n', 'OUT')], { in: { IN: one }, ...out }),
  ...ensembleModel('halts', [repeat('n'), step('stuck', 'n', 'OUT')], { in: repeatIn, ...out }, 'max_inflight_requests: 2'),
};

let ensembles: EnsembleServer;

beforeAll(async () => {
  ensembles = await EnsembleServer.start(files);
});

afterAll(() => ensembles.close());

const numbers = (count: number, first = 0): readonly number[] => Array.from({ length: count }, (_, index) => first + index);

const ofRepeat = (model: string, id: string, values: readonly number[]): Question => ({
  model,
  id,
  inputs: [
    { name: 'IN', datatype: 'INT32', shape: [values.length], data: values },
    { name: 'DELAY', datatype: 'UINT32', shape: [values.length], data: values.map(() => 0) },
    { name: 'WAIT', datatype: 'UINT32', shape: [1], data: [0] },
  ],
});

const ofOne = (model: string, id: string, value: number): Question => ({
  model,
  id,
  inputs: [{ name: 'IN', datatype: 'INT32', shape: [1], data: [value] }],
});

const wantsEnd = { triton_enable_empty_final_response: true };

/** Everything that a stream answers to it, but for the empty last message. */
const overGrpc = async (question: Question): Promise<readonly string[]> => {
  const stream = ensembles.openStream();
  stream.send(grpcRequest({ ...question, parameters: wantsEnd }));
  return (await saidByStream(stream, question.id)).filter((line) => line !== 'end');
};

const overWebSocket = async ({ model, ...body }: Question): Promise<readonly string[]> => {
  const client = await connectClient(`ws://127.0.0.1:${ensembles.server.ports.http}/v2/models/${model}/stream`);
  client.send(body);
  const all = await client.receiveAll();
  await client.close();
  return all.flatMap(({ json: { error, outputs } }) => error ?? outputs.map(({ data }) => String(data[0])));
};

describe.each([
  ['a gRPC stream', overGrpc],
  ['a WebSocket', overWebSocket],
])('over %s', (_, answers) => {
  it('rows of unequal counts, and none, come in order', async () => {
    expect(await answers(ofRepeat('squares', 'a', [0, 2, 1, 0, 3]))).toEqual(['2', '2', '1', '3', '3', '3']);
    expect(await answers(ofRepeat('squares', 'b', []))).toEqual([]);
    expect(await answers(ofRepeat('squares', 'c', [0, 0]))).toEqual([]);
    expect(await answers(ofOne('cubes', 'd', 4))).toEqual(Array(16).fill('4'));
    await ensembles.settled();
  });

  it('each of thousands of rows comes once, though a step makes them by the thousand from as many', async () => {
    expect(await answers(ofOne('cubes', 'a', 60))).toEqual(Array(3600).fill('60'));
    await ensembles.settled();
  });

  it('an ensemble that answers many times is a step of another', async () => {
    expect(await answers(ofRepeat('outer', 'a', numbers(300)))).toEqual(numbers(300).map(String));
    expect(await answers(ofRepeat('outer', 'b', []))).toEqual([]);
    await ensembles.settled();
  });

  it('a fast and a slow branch meet again, row by row', async () => {
    expect(await answers(ofRepeat('forked', 'a', numbers(600)))).toEqual(numbers(600).map((n) => String(2 * n)));
    await ensembles.settled();
  });

  it('a model that is asked by two steps and has one instance does not wait for itself', async () => {
    expect(await answers(ofOne('itself', 'a', 1000))).toEqual(Array(1000).fill('7'));
    await ensembles.settled();
  });

  it('models that ensembles ask in opposite order, with one instance each, do not wait for each other', async () => {
    const asked = [ofOne('there', 'a', 1000), ofOne('back', 'b', 1000), ofOne('there', 'c', 1000)];
    expect(await Promise.all(asked.map((question) => answers(question)))).toEqual(asked.map(() => Array(1000).fill('7')));
    await ensembles.settled();
  });

  it('what is wrong with a row ends the request with its step', async () => {
    const said = await answers(ofRepeat('squares', 'a', [2, -1, 2]));
    expect(said.at(-1)).toBe("in ensemble 'squares', expected IN to be the number of answers, got -1 (step 1, model 'square')");
    await ensembles.settled();
  });
});

it('answers that wait for an earlier one are whole when their turn comes', async () => {
  expect(await overGrpc(ofRepeat('held', 'a', numbers(60)))).toEqual(numbers(60, 1000).map(String));
  await ensembles.settled();
});

it('a caller who goes takes along what waits, what runs and what makes more', async () => {
  const stream = ensembles.grpc.stream();
  stream.send(grpcRequest(ofRepeat('halts', 'a', numbers(1000))));
  await until(() => ensembles.inside('halts')[1] === 4);
  expect(ensembles.stages('halts').map(({ queued, running }) => [queued, running])).toEqual([
    [0, 1],
    [2, 2],
  ]);
  stream.call.cancel();
  await ensembles.settled();
});

describe('a client that reads nothing of a hundred thousand answers and more', () => {
  /** How many rows have come through, once no more do. */
  const standstill = async (model: string): Promise<number> => {
    const out = (): number => ensembles.stages(model).at(-1)?.out ?? 0;
    await until(() => out() > 0);
    for (let before = -1; before !== out(); ) {
      before = out();
      for (let turn = 0; turn < 500; turn++) await setImmediate();
    }
    return out();
  };

  it('stops the model over gRPC', async () => {
    const client = await DeafClient.open(ensembles.server.ports.grpc ?? 0, 'default');
    const call = client.call(`/${inferenceService}/ModelStreamInfer`);
    const before = ensembles.stages('cubes').at(-1)?.out ?? 0;
    call.send(encode(messageType('inference.ModelInferRequest'), grpcRequest(ofOne('cubes', 'a', 1000))));
    expect((await standstill('cubes')) - before).toBeLessThan(500_000);
    expect(Math.max(...ensembles.inside('cubes'))).toBeLessThanOrEqual(256);
    client.close();
    await ensembles.settled();
  });

  it('stops it over WebSocket, and gets all of them once it reads', async () => {
    const client = await connectClient(`ws://127.0.0.1:${ensembles.server.ports.http}/v2/models/inner/stream`);
    const before = ensembles.stages('inner').at(-1)?.out ?? 0;
    client.webSocket.pause();
    const { model: _, ...body } = ofRepeat('inner', 'a', numbers(100_000));
    client.send(body);
    expect((await standstill('inner')) - before).toBeLessThan(100_000);
    client.webSocket.resume();
    const all = await client.receiveAll();
    expect(all.flatMap(({ json: { outputs } }) => outputs.map(({ data }) => data[0]))).toEqual(numbers(100_000));
    await client.close();
    await ensembles.settled();
  });
});
