import { Metadata, status } from '@grpc/grpc-js';
import { lastValueFrom, toArray } from 'rxjs';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { Server } from '../../src/index.ts';
import { type Fields, GrpcClient, type StreamClient } from '../frontends/grpc/support/client.ts';
import { connectClient } from '../frontends/websocket/support/client.ts';
import { until } from '../support/until.ts';
import { askRepeat, askSquare, repeatConfig, repeatJson, sayMessage, squareConfig } from './support/decoupled-models.ts';
import { type ModelRepository, modelRepository } from './support/model-repository.ts';

const decoupled = 'model_transaction_policy { decoupled: true }';
const patience = 'max_sequence_idle_microseconds: 60000000';
const never = 2 ** 31;

const models = {
  repeat: repeatConfig(),
  repeat_waiting: repeatConfig(),
  repeat_once: repeatConfig(''),
  repeat_in_order: repeatConfig(`${decoupled} dynamic_batching { preserve_ordering: true }`),
  repeat_oldest: repeatConfig(`${decoupled} sequence_batching { ${patience} oldest { max_candidate_sequences: 4 } }`),
  repeat_direct: repeatConfig(`${decoupled} sequence_batching { ${patience} direct { } }`),
  square: squareConfig(),
  square_batched: squareConfig('max_batch_size: 2 dynamic_batching { preferred_batch_size: 2 max_queue_delay_microseconds: 60000000 }'),
  square_failing: squareConfig('', { CUSTOM_FAIL_COUNT: 2 }),
  square_cached: squareConfig('response_cache { enable: true }'),
  square_failing_cached: squareConfig('response_cache { enable: true }', { CUSTOM_FAIL_COUNT: 1 }),
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
    cache: { name: 'local', size: 2 ** 20 },
    log: { error: false, warning: false },
  });
  client = new GrpcClient(server.ports.grpc ?? 0);
});

afterAll(async () => {
  client.close();
  await server.close();
  await repository[Symbol.asyncDispose]();
});

/** Of a stage of a model: its requests that run. */
const running = (model: string): number =>
  server
    .graphs()
    .find((graph) => graph.model === model)
    ?.stages.find(({ name }) => name === 'run')?.running ?? 0;

const statistics = async (model: string) => {
  const [first] = await server.model(model).statistics();
  if (first === undefined) throw new Error(`no statistics of ${model}`);
  return first;
};

/** Everything that a stream answers to some requests, and its end. */
const talk = async (requests: readonly Fields[], metadata?: Metadata) => {
  const stream = client.stream(metadata);
  for (const request of requests) stream.send(request);
  const { messages, status: end } = await stream.finish();
  return { said: messages.map(sayMessage), end };
};

/** A stream that is cancelled with the test. */
const openStream = (): StreamClient => {
  const stream = client.stream();
  onTestFinished(() => stream.call.cancel());
  return stream;
};

const saidBy = async (stream: StreamClient, count: number): Promise<readonly string[]> => (await stream.received(count)).map(sayMessage);

const wanting = { parameters: { triton_enable_empty_final_response: { bool_param: true } } };

describe('a stream', () => {
  it('brings none, one or many answers, in order, and an empty last one on request only', async () => {
    expect((await talk([askRepeat('repeat', 'a', { values: [], delays: [] })])).said).toEqual([]);
    expect((await talk([askRepeat('repeat', 'a', { values: [], delays: [] }, wanting)])).said).toEqual(['a: end last']);
    expect((await talk([askRepeat('repeat', 'a', { values: [4], delays: [0] })])).said).toEqual(['a: 4 @0']);
    expect((await talk([askRepeat('repeat', 'a', { values: [4, 2], delays: [2, 0] }, wanting)])).said).toEqual([
      'a: 4 @0',
      'a: 2 @1',
      'a: end last',
    ]);
    expect((await talk([askSquare('square', 'a', 3)])).said).toEqual(['a: 3', 'a: 3', 'a: 3']);
  });

  it('brings a thousand answers each to two requests, in the order of each', async () => {
    const values = Array.from({ length: 1000 }, (_, index) => index);
    const delays = values.map(() => 0);
    const { said } = await talk(['a', 'b'].map((id) => askRepeat('repeat', id, { values, delays })));
    for (const id of ['a', 'b']) {
      expect(said.filter((line) => line.startsWith(id))).toEqual(values.map((value) => `${id}: ${value} @${value}`));
    }
    // Neither waits for the other's end.
    expect(said.findIndex((line) => line.startsWith('b'))).toBeLessThan(1000);
  });

  it('brings the answers of one request while another is not at its end, though both are at one instance', async () => {
    const stream = openStream();
    stream.send(askRepeat('repeat', 'a', { values: [1, 2], delays: [0, never] }));
    expect(await saidBy(stream, 1)).toEqual(['a: 1 @0']);
    stream.send(askRepeat('repeat', 'b', { values: [3, 4], delays: [0, 0] }, wanting));
    expect((await saidBy(stream, 4)).slice(1)).toEqual(['b: 3 @0', 'b: 4 @1', 'b: end last']);
    expect(running('repeat')).toBe(1);
    stream.call.cancel();
    await until(() => running('repeat') === 0);
  });

  it('waits for an instance that is not yet free', async () => {
    const stream = openStream();
    stream.send(askRepeat('repeat_waiting', 'a', { values: [1], delays: [0], wait: never }, wanting));
    stream.send(askRepeat('repeat_waiting', 'b', { values: [2], delays: [0] }));
    const graph = () => server.graphs().find(({ model }) => model === 'repeat_waiting');
    const queued = () => graph()?.stages.find(({ name }) => name === 'queue')?.queued;
    await until(() => queued() === 1);
    expect(await saidBy(stream, 2)).toEqual(['a: 1 @0', 'a: end last']);
    expect(graph()?.instances.busy).toBe(1);
    stream.call.cancel();
    await until(() => queued() === 0);
  });

  it('stops a model in the middle when its client goes', async () => {
    const stream = client.stream();
    stream.send(askRepeat('repeat', 'a', { values: [1, 2], delays: [0, never] }));
    await stream.received(1);
    stream.call.cancel();
    await until(() => running('repeat') === 0);
    const { inference_stats: stats, response_stats: responses } = await statistics('repeat');
    expect(stats.fail.count).toBeGreaterThan(0);
    expect(responses['1']?.cancel.count).toBeGreaterThan(0);
  });

  it('keeps up with a client that reads late', async () => {
    const values = Array.from({ length: 100_000 }, (_, index) => index);
    const delays = values.map(() => 0);
    const stream = client.stream();
    stream.call.pause();
    stream.send(askRepeat('repeat', 'a', { values, delays }));
    await until(() => running('repeat') === 1);
    stream.call.resume();
    const { messages, status: end } = await stream.finish();
    expect(end.code).toBe(status.OK);
    expect(messages.length).toBe(values.length);
    expect(messages.findIndex((message, index) => sayMessage(message) !== `a: ${index} @${index}`)).toBe(-1);
  });
});

describe('errors of a decoupled model', () => {
  it('go in their places, and the request counts as a success', async () => {
    const { said, end } = await talk([askSquare('square_failing', 'a', 3, wanting), askSquare('square', 'b', 1)]);
    expect(said.filter((line) => line.startsWith('a'))).toEqual(['a: 3', 'a: simulated failure', 'a: simulated failure', 'a: end last']);
    expect([said.includes('b: 1'), end.code]).toEqual([true, status.OK]);
    const { inference_stats: stats, response_stats: responses } = await statistics('square_failing');
    expect([stats.success.count, stats.fail.count]).toEqual([1, 0]);
    expect(Object.values(responses).map(({ success, fail, empty_response: empty }) => [success.count, fail.count, empty.count])).toEqual([
      [1, 0, 0],
      [0, 1, 0],
      [0, 1, 0],
      [0, 0, 1],
    ]);
  });

  it('end the stream in the strict mode', async () => {
    const strict = Metadata.fromHttp2Headers({ triton_grpc_error: 'true' });
    const { said, end } = await talk([askSquare('square_failing', 'a', 4)], strict);
    expect(said).toEqual(['a: 4', 'a: 4']);
    expect(end).toMatchObject({ code: status.UNKNOWN, details: 'simulated failure' });
  });

  it('end a request where nothing follows', async () => {
    const { said } = await talk([askSquare('square', 'a', -1), askRepeat('repeat', 'b', { values: [1], delays: [] })]);
    expect(said.toSorted()).toEqual([
      'a: expected IN to be the number of answers, got -1 last',
      'b: expected IN and DELAY shape to match, got [1] and [0] last',
    ]);
  });

  it('are told in the program, too', async () => {
    const question = { inputs: { IN: { shape: [1], values: [2] } } };
    const answers = await lastValueFrom(server.model('square_failing').infer(question).pipe(toArray()));
    expect(answers.map(({ error, outputs }) => [error?.message, outputs.size])).toEqual([
      ['simulated failure', 0],
      ['simulated failure', 0],
    ]);
    await expect(server.model('square_failing').inferOnce({ inputs: { IN: { shape: [1], values: [1] } } })).rejects.toThrow(
      'simulated failure',
    );
  });
});

describe('calls that take one answer', () => {
  const url = (model: string): string => `http://127.0.0.1:${server.ports.http}/v2/models/${model}/infer`;
  const once = { values: [7], delays: [0] };

  it('refuse decoupled models', async () => {
    const response = await fetch(url('repeat'), { method: 'POST', body: JSON.stringify(repeatJson('a', once)) });
    expect([response.status, await response.text()]).toEqual([
      501,
      JSON.stringify({ error: "HTTP end point doesn't support models with decoupled transaction policy" }),
    ]);
    await expect(client.infer(askRepeat('repeat', 'a', once))).rejects.toMatchObject({
      code: status.UNIMPLEMENTED,
      details: "ModelInfer RPC doesn't support models with decoupled transaction policy",
    });
  });

  it('take a model that gives its answer and the end apart', async () => {
    const response = await fetch(url('repeat_once'), { method: 'POST', body: JSON.stringify(repeatJson('a', once)) });
    expect(JSON.parse(await response.text())).toMatchObject({
      id: 'a',
      outputs: [
        { name: 'OUT', data: [7] },
        { name: 'IDX', data: [0] },
      ],
    });
    expect(await client.infer(askRepeat('repeat_once', 'b', once))).toMatchObject({ id: 'b' });
    expect((await talk([askRepeat('repeat_once', 'c', once, wanting)])).said).toEqual(['c: 7 @0 last']);
  });

  it('fail where it gives more, and go on', async () => {
    const twice = { values: [7, 8], delays: [0, 0] };
    const response = await fetch(url('repeat_once'), { method: 'POST', body: JSON.stringify(repeatJson('a', twice)) });
    expect([response.status, await response.text()]).toEqual([500, expect.stringContaining('expected a single response, got 2')]);
    expect(await client.infer(askRepeat('repeat_once', 'b', once))).toMatchObject({ id: 'b' });
  });
});

describe('a WebSocket', () => {
  it('brings all answers and one last message to each request', async () => {
    const socket = await connectClient(`ws://127.0.0.1:${server.ports.http}/v2/stream`);
    socket.send({ model_name: 'repeat', ...repeatJson('a', { values: [], delays: [] }) });
    socket.send({ model_name: 'repeat', ...repeatJson('b', { values: [5, 6], delays: [1, 1] }) });
    socket.send({ model_name: 'square_failing', id: 'c', inputs: [{ name: 'IN', datatype: 'INT32', shape: [1], data: [3] }] });
    const seen: Record<string, unknown[]> = {};
    for (let finals = 0; finals < 3; ) {
      const { json } = await socket.receive();
      const { id, error, outputs, parameters } = json;
      seen[id] ??= [];
      seen[id].push(error ?? outputs.map(({ data }) => data[0]));
      if (parameters.triton_final_response) finals++;
    }
    expect(seen).toEqual({ a: [[]], b: [[5, 0], [6, 1], []], c: [[3], 'simulated failure', 'simulated failure', []] });
    await socket.close();
  });

  it('stops a model by a message', async () => {
    const socket = await connectClient(`ws://127.0.0.1:${server.ports.http}/v2/models/repeat/stream`);
    socket.send(repeatJson('a', { values: [1, 2], delays: [0, never] }));
    await socket.receive();
    socket.send({ cancel: 'a' });
    expect((await socket.receive()).json).toMatchObject({ id: 'a', code: 'CANCELLED' });
    await until(() => running('repeat') === 0);
    await socket.close();
  });
});

describe('with a scheduler', () => {
  it('requests share an execution, and each gets its own answers', async () => {
    const shape = [1, 1];
    const { said } = await talk([askSquare('square_batched', 'a', 2, { shape }), askSquare('square_batched', 'b', 3, { shape })]);
    expect(said.toSorted()).toEqual(['a: 2', 'a: 2', 'b: 3', 'b: 3', 'b: 3']);
    expect(await statistics('square_batched')).toMatchObject({ inference_count: 2, execution_count: 1 });
  });

  it('one of them may go while the other is answered', async () => {
    const shape = [1, 1];
    const slow = openStream();
    slow.send(askSquare('square_batched', 'a', 2 ** 30, { shape }));
    const other = client.stream();
    other.send(askSquare('square_batched', 'b', 40, { shape }));
    await slow.received(1);
    slow.call.cancel();
    expect((await other.finish()).messages.map(sayMessage)).toEqual(Array(40).fill('b: 40'));
    await until(() => running('square_batched') === 0);
  });

  it('answers leave in the order of the requests, where the model preserves it', async () => {
    const { said } = await talk([
      askRepeat('repeat_in_order', 'a', { values: [1, 2], delays: [20, 20] }),
      askRepeat('repeat_in_order', 'b', { values: [3, 4], delays: [0, 0] }),
    ]);
    expect(said).toEqual(['a: 1 @0', 'a: 2 @1', 'b: 3 @0', 'b: 4 @1']);
  });

  it.each(['repeat_oldest', 'repeat_direct'])('a sequence of %s goes on as soon as its instance is free', async (model) => {
    const part = (start: boolean, end: boolean): Fields => ({
      parameters: {
        sequence_id: { int64_param: 5 },
        sequence_start: { bool_param: start },
        sequence_end: { bool_param: end },
        triton_enable_empty_final_response: { bool_param: true },
      },
    });
    const stream = openStream();
    stream.send(askRepeat(model, 'a', { values: [1, 2], delays: [0, never] }, part(true, false)));
    stream.send(askRepeat(model, 'b', { values: [3], delays: [0] }, part(false, false)));
    stream.send(askRepeat(model, 'c', { values: [4], delays: [0] }, part(false, true)));
    expect(await saidBy(stream, 5)).toEqual(['a: 1 @0', 'b: 3 @0', 'b: end last', 'c: 4 @0', 'c: end last']);
    stream.call.cancel();
    await until(() => running(model) === 0);
  });

  it('the cache keeps whole answers, and none with an error in them', async () => {
    const answers = async (model: string) => (await talk([askSquare(model, 'a', 3)])).said;
    expect(await answers('square_cached')).toEqual(['a: 3', 'a: 3', 'a: 3']);
    expect(await answers('square_cached')).toEqual(['a: 3', 'a: 3', 'a: 3 last']);
    expect((await statistics('square_cached')).inference_stats.cache_hit.count).toBe(1);
    for (let n = 0; n < 2; n++) expect(await answers('square_failing_cached')).toEqual(['a: 3', 'a: 3', 'a: simulated failure']);
    const { inference_stats: stats, execution_count: executions } = await statistics('square_failing_cached');
    expect([stats.cache_hit.count, executions]).toEqual([0, 2]);
  });
});

it('an instance is busy no longer than it says, and what goes on is counted', async () => {
  const stream = openStream();
  for (const id of ['a', 'b', 'c']) stream.send(askRepeat('repeat', id, { values: [1, 2], delays: [0, never] }));
  await stream.received(3);
  const graph = server.graphs().find(({ model }) => model === 'repeat');
  expect(graph?.instances.busy).toBe(0);
  expect(graph?.queues).toEqual([{ name: 'released', queued: 3, limit: 4096 }]);
  stream.call.cancel();
  await until(() => running('repeat') === 0);
});
