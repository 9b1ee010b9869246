import { Metadata, status } from '@grpc/grpc-js';
import { throwError } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { InferError } from '../../../src/streams/inference/error.ts';
import type { InferRequest } from '../../../src/streams/inference/request.ts';
import { Tensor } from '../../../src/streams/tensors/tensor.ts';
import type { Fields } from './support/client.ts';
import { counting, echoing, HeldModel, makeOutput, TestDataPlane, variableSpec } from './support/data-plane.ts';
import { noCounts, type Serving, serve } from './support/serving.ts';

let held: HeldModel;
let heldStream: HeldModel;
let dataPlane: TestDataPlane;
let serving: Serving;
let lastRequest: InferRequest | undefined;

const serveModels = async (headerForwardPattern = ''): Promise<void> => {
  serving = await serve(dataPlane, { headerForwardPattern });
};

beforeEach(async () => {
  held = new HeldModel();
  heldStream = new HeldModel();
  dataPlane = new TestDataPlane()
    .add(variableSpec('echo'), (request) => {
      lastRequest = request;
      return echoing(request);
    })
    .add(variableSpec('held', { outputs: [makeOutput([1])] }), held.infer)
    .add(variableSpec('held_stream', { decoupled: true }), heldStream.infer)
    .add(variableSpec('three', { decoupled: true }), counting(3))
    .add(variableSpec('none'), counting(0))
    .add(variableSpec('full'), () => throwError(() => new InferError('UNAVAILABLE', 'Exceeds maximum queue size', { reason: 'REJECTED' })))
    .add(variableSpec('failing'), () => throwError(() => new InferError('INVALID_ARGUMENT', 'no good', { reason: 'BACKEND' })));
  await serveModels();
});
afterEach(async () => {
  await serving.stop();
  expect(serving.server.counters()).toEqual(noCounts);
  expect(dataPlane.running).toBe(0);
});

const ask = (model: string, id: string, fields: Fields = {}): Fields => ({
  model_name: model,
  id,
  inputs: [{ name: 'IN', datatype: 'UINT8', shape: [1] }],
  raw_input_contents: [Buffer.of(1)],
  ...fields,
});

interface Seen {
  readonly id: unknown;
  readonly error: unknown;
  readonly final: boolean | undefined;
  readonly outputs: number;
  readonly model: string;
}

/** What a client looks at in a message. */
const see = (message: Fields): Seen => {
  const response = message.infer_response as Fields;
  const parameters = response.parameters as Record<string, { bool_param?: boolean } | undefined>;
  return {
    id: response.id,
    error: message.error_message,
    final: parameters.triton_final_response?.bool_param,
    outputs: (response.outputs as unknown[]).length,
    model: `${response.model_name} ${response.model_version}`,
  };
};
const answered = (id: string, final: boolean, model = 'echo 1'): Seen => ({ id, error: '', final, outputs: 1, model });

const errorMode = Metadata.fromHttp2Headers({ triton_grpc_error: 'true' });

describe('order', () => {
  it('of answers is that of the requests, over all models that answer once', async () => {
    const stream = serving.client.stream();
    for (const [model, id] of [
      ['held', 'a'],
      ['echo', 'b'],
      ['held', 'c'],
      ['nobody', 'd'],
      ['echo', 'e'],
    ] as const)
      stream.send(ask(model, id));
    await held.holds(2);
    held.at(1).finish();
    held.at(0).finish();
    const { messages, status: end } = await stream.finish();
    expect(messages.map(see)).toEqual([
      answered('a', true, 'held 1'),
      answered('b', true),
      answered('c', true, 'held 1'),
      { id: 'd', error: "Request for unknown model: 'nobody' is not found", final: undefined, outputs: 0, model: ' ' },
      answered('e', true),
    ]);
    expect(end.code).toBe(status.OK);
  });

  it('is kept for answers whose memory the model uses again', async () => {
    const stream = serving.client.stream();
    stream.send(ask('held', 'a'));
    stream.send(ask('held', 'b', { raw_input_contents: [Buffer.of(42)] }));
    await held.holds(2);
    const second = held.at(1);
    const memory = second.request.inputs.get('IN');
    second.finish();
    // The second waits for the first; what it was answered with is overwritten meanwhile.
    memory?.buffer.fill(0, memory.start, memory.end);
    held.at(0).finish();
    const { messages } = await stream.finish();
    expect(messages.map(({ infer_response }) => (infer_response as Fields).raw_output_contents)).toEqual([[Buffer.of(1)], [Buffer.of(42)]]);
  });

  it('does not hold back models that answer many times', async () => {
    const stream = serving.client.stream();
    stream.send(ask('held', 'a'));
    stream.send(ask('three', 'b'));
    stream.send(ask('held_stream', 'c'));
    await heldStream.holds(1);
    heldStream.at(0).next();
    expect((await stream.received(4)).map(see)).toEqual([
      answered('b', false, 'three 1'),
      answered('b', false, 'three 1'),
      answered('b', false, 'three 1'),
      answered('c', false, 'held_stream 1'),
    ]);
    heldStream.at(0).finish();
    held.at(0).finish();
    expect((await stream.finish()).messages.slice(4).map(see)).toEqual([
      answered('c', true, 'held_stream 1'),
      answered('a', true, 'held 1'),
    ]);
  });
});

describe('the end of a decoupled answer', () => {
  const wanting = { parameters: { triton_enable_empty_final_response: { bool_param: true } } };

  it('is silent when the last answer did not say so', async () => {
    const stream = serving.client.stream();
    stream.send(ask('three', 'a'));
    expect((await stream.finish()).messages.map(see)).toEqual(Array(3).fill(answered('a', false, 'three 1')));
  });

  it('is a message of its own on demand', async () => {
    const stream = serving.client.stream();
    stream.send(ask('three', 'a', wanting));
    expect((await stream.finish()).messages.map(see)).toEqual([
      ...Array(3).fill(answered('a', false, 'three 1')),
      { id: 'a', error: '', final: true, outputs: 0, model: 'three ' },
    ]);
  });

  it('is said once, by the last answer when it knows', async () => {
    const stream = serving.client.stream();
    stream.send(ask('held_stream', 'a', wanting));
    await heldStream.holds(1);
    heldStream.at(0).finish();
    expect((await stream.finish()).messages.map(see)).toEqual([answered('a', true, 'held_stream 1')]);
  });
});

describe('errors', () => {
  it('in issuing a request have its id only, and leave the stream open', async () => {
    const stream = serving.client.stream();
    stream.send(ask('full', 'a'));
    stream.send(ask('echo', 'b', { model_version: 'x' }));
    stream.send(ask('three', 'c', { parameters: { timeout: {} } }));
    stream.send(ask('echo', 'd'));
    const { messages, status: end } = await stream.finish();
    const failed = (id: string, error: string): Seen => ({ id, error, final: undefined, outputs: 0, model: ' ' });
    expect(messages.map(see)).toEqual([
      failed('a', 'Exceeds maximum queue size'),
      failed('b', "failed to get model version from specified version string 'x' (details: stol), version should be an integral value > 0"),
      failed('c', "invalid value type for 'timeout' parameter, expected int64_param."),
      answered('d', true),
    ]);
    expect(end.code).toBe(status.OK);
  });

  it('of a model have its name, the version as asked and the final flag', async () => {
    const stream = serving.client.stream();
    stream.send(ask('failing', 'a', { model_version: '1' }));
    stream.send(ask('held', 'b'));
    stream.send(ask('none', 'c'));
    await held.holds(1);
    held.at(0).error(new InferError('UNAVAILABLE', 'Request timeout expired', { reason: 'REJECTED' }));
    const failed = (id: string, error: string, model: string): Seen => ({ id, error, final: true, outputs: 0, model });
    expect((await stream.finish()).messages.map(see)).toEqual([
      failed('a', 'no good', 'failing 1'),
      failed('b', 'Request timeout expired', 'held '),
      { id: 'c', error: 'expected a single response, got 0', final: undefined, outputs: 0, model: ' ' },
    ]);
  });

  it('come after the answers that a decoupled model gave', async () => {
    const stream = serving.client.stream();
    stream.send(ask('held_stream', 'a'));
    await heldStream.holds(1);
    heldStream.at(0).next();
    heldStream.at(0).error(new InferError('INTERNAL', 'late', { reason: 'BACKEND' }));
    expect((await stream.finish()).messages.map(see)).toEqual([
      answered('a', false, 'held_stream 1'),
      { id: 'a', error: 'late', final: true, outputs: 0, model: 'held_stream ' },
    ]);
  });

  it('of a decoupled model may come between its answers', async () => {
    const stream = serving.client.stream();
    stream.send(ask('held_stream', 'a'));
    stream.send(ask('held_stream', 'b'));
    await heldStream.holds(2);
    const [a, b] = [heldStream.at(0), heldStream.at(1)];
    a.next();
    a.next({ error: new InferError('UNKNOWN', 'skipped', { reason: 'BACKEND' }), outputs: new Map() });
    b.next();
    b.finish();
    a.finish();
    expect((await stream.finish()).messages.map(see)).toEqual([
      answered('a', false, 'held_stream 1'),
      { id: 'a', error: 'skipped', final: false, outputs: 0, model: 'held_stream ' },
      answered('b', false, 'held_stream 1'),
      answered('b', true, 'held_stream 1'),
      answered('a', true, 'held_stream 1'),
    ]);
  });

  it('of a message that is none end the stream', async () => {
    const stream = serving.client.stream();
    stream.send(ask('held', 'a'));
    await held.holds(1);
    stream.send(Buffer.of(0x3a, 0x05));
    expect((await stream.ended).status).toMatchObject({
      code: status.INTERNAL,
      details: 'failed to parse ModelInferRequest: the message is truncated',
    });
    expect(held.cancelled).toBe(1);
  });
});

describe('triton_grpc_error', () => {
  it('ends the stream with the status of the first error of a model', async () => {
    const stream = serving.client.stream(errorMode);
    stream.send(ask('echo', 'a'));
    stream.send(ask('held', 'b'));
    stream.send(ask('held_stream', 'c'));
    await held.holds(1);
    await heldStream.holds(1);
    heldStream.at(0).error(new InferError('INVALID_ARGUMENT', 'no good', { reason: 'BACKEND' }));
    const { messages, status: end } = await stream.ended;
    expect(messages.map(see)).toEqual([answered('a', true)]);
    expect(end).toMatchObject({ code: status.INVALID_ARGUMENT, details: 'no good' });
    expect(held.cancelled).toBe(1);
  });

  it('ends it at an error that would come between answers, too', async () => {
    const stream = serving.client.stream(errorMode);
    stream.send(ask('held_stream', 'a'));
    stream.send(ask('held_stream', 'b'));
    await heldStream.holds(2);
    const [a] = [heldStream.at(0)];
    a.next();
    a.next({ error: new InferError('UNAVAILABLE', 'not now', { reason: 'BACKEND' }), outputs: new Map() });
    const { messages, status: end } = await stream.ended;
    expect(messages.map(see)).toEqual([answered('a', false, 'held_stream 1')]);
    expect(end).toMatchObject({ code: status.UNAVAILABLE, details: 'not now' });
    expect(heldStream.cancelled).toBe(2);
  });

  it('leaves errors in issuing a request as they are', async () => {
    const stream = serving.client.stream(errorMode);
    stream.send(ask('nobody', 'a'));
    stream.send(ask('full', 'b'));
    stream.send(ask('echo', 'c'));
    const { messages, status: end } = await stream.finish();
    expect(messages.map(see)).toMatchObject([
      { id: 'a', final: undefined },
      { id: 'b', error: 'Exceeds maximum queue size' },
      { id: 'c', final: true },
    ]);
    expect(end.code).toBe(status.OK);
  });

  it('must be exactly that', async () => {
    const stream = serving.client.stream(Metadata.fromHttp2Headers({ triton_grpc_error: 'True' }));
    stream.send(ask('failing', 'a'));
    expect((await stream.finish()).status.code).toBe(status.OK);
  });
});

describe('a stream', () => {
  it('finishes what is in flight when the client has no more', async () => {
    const stream = serving.client.stream();
    stream.send(ask('held', 'a'));
    await held.holds(1);
    const ended = stream.finish();
    await serving.client.call('ServerLive', {});
    held.at(0).finish();
    expect((await ended).messages.map(see)).toEqual([answered('a', true, 'held 1')]);
  });

  it('without a request ends with OK', async () => {
    expect((await serving.client.stream().finish()).status.code).toBe(status.OK);
  });

  it('that is cancelled takes all its requests back', async () => {
    const stream = serving.client.stream();
    for (let index = 0; index < 10; index++) stream.send(ask(index % 2 === 0 ? 'held' : 'held_stream', String(index)));
    await held.holds(5);
    await heldStream.holds(5);
    stream.call.cancel();
    await Promise.all([held.holds(0), heldStream.holds(0)]);
    expect([held.cancelled, heldStream.cancelled]).toEqual([5, 5]);
    expect((await stream.ended).status.code).toBe(status.CANCELLED);
  });

  it('whose deadline passes takes its requests back', async () => {
    const stream = serving.client.stream(undefined, { deadline: Date.now() + 100 });
    stream.send(ask('held', 'a'));
    expect((await stream.ended).status.code).toBe(status.DEADLINE_EXCEEDED);
    await held.holds(0);
    expect(held.cancelled).toBe(1);
  });

  it('forwards its metadata with every request', async () => {
    await serving.stop();
    await serveModels('^key$');
    const stream = serving.client.stream(Metadata.fromHttp2Headers({ key: 'v' }));
    stream.send(ask('echo', 'a', { parameters: { key: { string_param: 'own' }, b: { bool_param: true } } }));
    await stream.finish();
    expect(lastRequest?.parameters).toEqual(
      new Map<string, unknown>([
        ['key', 'v'],
        ['b', true],
      ]),
    );
  });
});

describe('flow control', () => {
  it('reads no more than 4,096 requests ahead of the answers', async () => {
    const stream = serving.client.stream();
    const one = ask('held', '');
    for (let index = 0; index < 4400; index++) stream.send(one);
    await held.holds(4096);
    // Nothing else comes while all of them wait, however long the server runs.
    for (let turn = 0; turn < 20; turn++) await serving.client.call('ServerLive', {});
    expect(held.held.length).toBe(4096);
    held.at(0).finish();
    await held.holds(4096);
    stream.call.cancel();
    await held.holds(0);
  });

  it('reads no more than 64 MiB of requests ahead of the answers, and one message more', async () => {
    const stream = serving.client.stream();
    const large = ask('held_stream', '', { raw_input_contents: [Buffer.alloc(2 ** 20)] });
    for (let index = 0; index < 100; index++) stream.send(large);
    await heldStream.holds(64);
    for (let turn = 0; turn < 20; turn++) await serving.client.call('ServerLive', {});
    expect(heldStream.held.length).toBe(64);
    for (let answered = 0; answered < 100; answered++) {
      while (heldStream.held.length === 0) await heldStream.holds(1);
      heldStream.at(0).finish({ outputs: new Map() });
    }
    expect((await stream.finish()).messages.length).toBe(100);
  });

  it('reads on when the client has read, though all in flight wait for what is not read yet', async () => {
    const stream = serving.client.stream();
    const answer = { outputs: new Map([['OUT', new Tensor('UINT8', [2 ** 20], new Uint8Array(2 ** 20))]]) };
    // The client's library reads 16 messages ahead.
    for (let index = 0; index < 24; index++) stream.send(ask('held', String(index)));
    await held.holds(24);
    stream.call.pause();
    while (held.held.length > 0) held.at(0).finish(answer);
    for (let index = 0; index < 40; index++) stream.send(ask('held', String(index)));
    for (let turn = 0; turn < 20; turn++) await serving.client.call('ServerLive', {});
    expect(held.held.length).toBeLessThan(16);
    stream.call.resume();
    await held.holds(40);
    while (held.held.length > 0) held.at(0).finish();
    expect((await stream.finish()).messages.length).toBe(64);
  });

  it('answers everything once a slow client reads', async () => {
    const stream = serving.client.stream();
    stream.call.pause();
    const mebibyte = ask('echo', '', { raw_input_contents: [Buffer.alloc(2 ** 20, 5)] });
    for (let index = 0; index < 48; index++) stream.send({ ...mebibyte, id: String(index) });
    while (serving.server.counters().outboxBytes < 15 * 2 ** 20) await serving.client.call('ServerLive', {});
    stream.call.resume();
    const { messages } = await stream.finish();
    expect(messages.map((message) => see(message).id)).toEqual(Array.from({ length: 48 }, (_, index) => String(index)));
    expect(messages.every((message) => see(message).error === '')).toBe(true);
  });
});
