import { afterEach, describe, expect, it } from 'vitest';
import { InferError } from '../../../src/streams/inference/error.ts';
import { Tensor } from '../../../src/streams/tensors/tensor.ts';
import type { Client } from './support/client.ts';
import { connectClient } from './support/client.ts';
import { answer, counting, failing, failingHalfway, identity, int32, ManualModel } from './support/models.ts';
import type { TestServer } from './support/start.ts';
import { startWebSocket } from './support/start.ts';

const models = { identity, counting, failing, failingHalfway };
const input = { name: 'X', datatype: 'INT32', shape: [2], data: [7, -8] };

let server: TestServer | undefined;
afterEach(() => server?.stop());

const connect = async (path = '/v2/stream', protocol = 'weir.v2.json', more = {}): Promise<Client> => {
  server = await startWebSocket({ ...models, ...more });
  return connectClient(server.origin + path, [protocol]);
};

describe('a request', () => {
  it('is answered as over HTTP, with the final flag', async () => {
    const client = await connect();
    client.send({ model_name: 'identity', id: 'a', inputs: [input] });
    const { json, isBinary } = await client.receive();
    expect(isBinary).toBe(false);
    expect(json).toEqual({
      id: 'a',
      model_name: 'identity',
      model_version: '1',
      parameters: { triton_final_response: true },
      outputs: [input],
    });
  });

  it.each(['/v2/models/identity/stream', '/v2/models/identity/versions/1/stream'])('needs no model name on %s', async (path) => {
    const client = await connect(path);
    client.send({ inputs: [input] });
    expect((await client.receive()).json).toMatchObject({ model_name: 'identity', outputs: [input] });
    client.send({ model_name: 'identity', model_version: '1', inputs: [input] });
    expect((await client.receive()).json).toMatchObject({ model_name: 'identity', outputs: [input] });
    client.send({ model_name: 'counting', inputs: [input], id: 'x' });
    expect((await client.receive()).json).toEqual({
      id: 'x',
      error: "'model_name' is 'counting', but the path of the connection says 'identity'",
      code: 'INVALID_ARGUMENT',
      parameters: { triton_final_response: true },
    });
  });

  it('carries tensors byte for byte on the binary subprotocol', async () => {
    const client = await connect('/v2/stream', 'weir.v2.binary');
    const elements = [
      Buffer.alloc(0),
      Buffer.from([0]),
      Buffer.from('a\0'),
      Buffer.from([0xff, 0xfe]),
      Buffer.from('😀'),
      Buffer.alloc(100_000, 1),
    ];
    const bytes = Buffer.concat(
      elements.flatMap((element) => {
        const length = Buffer.alloc(4);
        length.writeUInt32LE(element.length);
        return [length, element];
      }),
    );
    const numbers = Buffer.from(Float32Array.of(1.5, Number.NaN).buffer);
    client.send(
      {
        model_name: 'identity',
        id: 'b',
        inputs: [
          { name: 'S', datatype: 'BYTES', shape: [6], parameters: { binary_data_size: bytes.length } },
          { name: 'N', datatype: 'FP32', shape: [2], parameters: { binary_data_size: numbers.length } },
          { name: 'J', datatype: 'INT32', shape: [1], data: [3] },
        ],
        outputs: [{ name: 'S', parameters: { binary_data: true } }, { name: 'N', parameters: { binary_data: true } }, { name: 'J' }],
      },
      bytes,
      numbers,
    );
    const { json, tail, isBinary } = await client.receive();
    expect(isBinary).toBe(true);
    expect(json).toEqual({
      id: 'b',
      model_name: 'identity',
      model_version: '1',
      parameters: { triton_final_response: true },
      outputs: [
        { name: 'S', datatype: 'BYTES', shape: [6], parameters: { binary_data_size: bytes.length } },
        { name: 'N', datatype: 'FP32', shape: [2], parameters: { binary_data_size: numbers.length } },
        { name: 'J', datatype: 'INT32', shape: [1], data: [3] },
      ],
    });
    expect(tail.equals(Buffer.concat([bytes, numbers]))).toBe(true);
  });

  it('reaches its model with sequence parameters in the order of the messages', async () => {
    const manual = new ManualModel();
    const client = await connect('/v2/models/manual/stream', 'weir.v2.json', { manual: manual.infer });
    for (let index = 0; index < 20; index++) {
      client.send({ id: `${index}`, inputs: [], parameters: { sequence_id: 42, sequence_start: index === 0, sequence_end: index === 19 } });
    }
    await manual.started(20);
    expect(manual.runs.map(({ request }) => request.id)).toEqual(Array.from({ length: 20 }, (_, index) => `${index}`));
    expect(manual.runs.map(({ request }) => request.sequenceId)).toEqual(Array(20).fill(42n));
    expect(manual.runs[0]?.request).toMatchObject({ sequenceStart: true, sequenceEnd: false });
    expect(manual.runs[19]?.request).toMatchObject({ sequenceStart: false, sequenceEnd: true });
  });
});

describe('many answers', () => {
  it('end with the final flag on the last data when the model knows it', async () => {
    const client = await connect('/v2/models/counting/stream');
    client.send({ id: 'c', inputs: [], parameters: { count: 3, knows_last: true } });
    const all = await client.receiveAll();
    expect(all.map(({ json }) => [json.outputs[0]?.data[0], json.parameters.triton_final_response])).toEqual([
      [0, false],
      [1, false],
      [2, true],
    ]);
  });

  it.each([0, 2])('after %i of them an empty one is final when the model does not know', async (count) => {
    const client = await connect('/v2/models/counting/stream');
    client.send({ id: 'c', inputs: [], parameters: { count } });
    const all = await client.receiveAll();
    expect(all.map(({ json }) => json.outputs.length)).toEqual([...Array(count).fill(1), 0]);
    expect(all.at(-1)?.json).toEqual({
      id: 'c',
      model_name: 'counting',
      model_version: '1',
      parameters: { triton_final_response: true },
      outputs: [],
    });
  });

  it('keep their order per request while requests interleave', async () => {
    const manual = new ManualModel();
    const client = await connect('/v2/models/manual/stream', 'weir.v2.json', { manual: manual.infer });
    client.send({ id: 'a', inputs: [] });
    client.send({ id: 'b', inputs: [] });
    await manual.started(2);
    for (let index = 0; index < 1000; index++) {
      for (const { request, responses } of manual.runs) {
        responses.next(answer(request, { outputs: new Map([['N', int32(index)]]), isLast: index === 999 }));
      }
    }
    const seen: Record<string, number[]> = { a: [], b: [] };
    for (let message = 0; message < 2000; message++) {
      const { json } = await client.receive();
      seen[json.id]?.push(json.outputs[0]?.data[0] ?? -1);
    }
    const inOrder = Array.from({ length: 1000 }, (_, index) => index);
    expect(seen).toEqual({ a: inOrder, b: inOrder });
  });

  it('are read before the model uses their memory again', async () => {
    const manual = new ManualModel();
    const client = await connect('/v2/models/manual/stream', 'weir.v2.binary', { manual: manual.infer });
    client.send({ inputs: [], parameters: { binary_data_output: true } });
    await manual.started(1);
    const [run] = manual.runs;
    const memory = Buffer.from([1, 2, 3]);
    const outputs = new Map([['X', new Tensor('UINT8', [3], memory)]]);
    if (run !== undefined) run.responses.next(answer(run.request, { outputs }));
    memory.fill(0);
    expect([...(await client.receive()).tail]).toEqual([1, 2, 3]);
  });
});

describe('an error', () => {
  const final = { triton_final_response: true };

  it('stands in its place and leaves the connection open', async () => {
    const client = await connect();
    client.send({ model_name: 'failing', id: 'f', inputs: [] });
    client.send({ model_name: 'identity', id: 'i', inputs: [input] });
    expect((await client.receive()).json).toEqual({ id: 'f', error: 'no good', code: 'INVALID_ARGUMENT', parameters: final });
    expect((await client.receive()).json).toMatchObject({ id: 'i', outputs: [input] });
  });

  it('ends a request that has had answers', async () => {
    const client = await connect();
    client.send({ model_name: 'failingHalfway', id: 'h', inputs: [input] });
    const all = await client.receiveAll();
    expect(all.map(({ json }) => json.error)).toEqual([undefined, 'no good']);
  });

  it('of a decoupled model may come between its answers', async () => {
    const manual = new ManualModel();
    const client = await connect('/v2/stream', 'weir.v2.json', { manual: manual.infer });
    client.send({ model_name: 'manual', id: 'm', inputs: [input] });
    await manual.started(1);
    const [run] = manual.runs;
    if (run === undefined) throw new Error('it has started');
    const error = new InferError('UNKNOWN', 'skipped', { reason: 'BACKEND' });
    run.responses.next(answer(run.request, { isLast: false }));
    run.responses.next(answer(run.request, { isLast: false, error, outputs: new Map() }));
    manual.finish(0);
    const all = await client.receiveAll();
    expect(all.length).toBe(3);
    expect(all[1]?.json).toEqual({ id: 'm', error: 'skipped', code: 'UNKNOWN', parameters: { triton_final_response: false } });
    expect(all[2]?.json.outputs.length).toBe(1);
  });

  it('names the request when the model is unknown', async () => {
    const client = await connect();
    client.send({ model_name: 'nobody', id: 'u', inputs: [] });
    expect((await client.receive()).json).toEqual({
      id: 'u',
      error: "Request for unknown model: 'nobody' is not found",
      code: 'NOT_FOUND',
      parameters: final,
    });
    client.send({ id: 'n', inputs: [] });
    expect((await client.receive()).json).toMatchObject({ id: 'n', code: 'INVALID_ARGUMENT' });
  });

  it.each([
    ['no JSON', 'weir.v2.json', Buffer.from('{"id":"a"'), 'INTERNAL', /failed to parse the request JSON buffer/],
    ['nothing', 'weir.v2.json', Buffer.alloc(0), 'INTERNAL', /failed to parse the request JSON buffer/],
    ['no object', 'weir.v2.json', Buffer.from('[1]'), 'INVALID_ARGUMENT', /must be a JSON object/],
    ['a cancel of a number', 'weir.v2.json', Buffer.from('{"cancel":1}'), 'INVALID_ARGUMENT', /'cancel' must be the id of a request/],
    ['an id that is no string', 'weir.v2.json', Buffer.from('{"id":1}'), 'INVALID_ARGUMENT', /'id' must be a string/],
    [
      'a header length out of range',
      'weir.v2.binary',
      Buffer.from([9, 0, 0, 0, 123, 125]),
      'INVALID_ARGUMENT',
      /header length 9 is out of range/,
    ],
    ['no header length', 'weir.v2.binary', Buffer.from([1]), 'INVALID_ARGUMENT', /has no header length/],
  ])('answers %s with an empty id', async (_case, protocol, message, code, text) => {
    const client = await connect('/v2/models/identity/stream', protocol);
    client.webSocket.send(message, { binary: protocol === 'weir.v2.binary' });
    const { json } = await client.receive();
    expect(json).toEqual({ id: '', error: expect.stringMatching(text), code, parameters: final });
    client.send({ id: 'next', inputs: [] });
    expect((await client.receive()).json.id).toBe('next');
  });

  it.each([
    [3, "unexpected size for input 'X', expecting 1 additional bytes for model 'identity'"],
    [5, "unexpected additional input data for model 'identity'"],
  ])('answers binary sizes that do not add up (%i of 4 bytes) with an empty id', async (bytes, error) => {
    const client = await connect('/v2/models/identity/stream', 'weir.v2.binary');
    client.send(
      { id: 'a', inputs: [{ name: 'X', datatype: 'INT32', shape: [1], parameters: { binary_data_size: 4 } }] },
      Buffer.alloc(bytes),
    );
    expect((await client.receive()).json).toEqual({ id: '', error, code: 'INVALID_ARGUMENT', parameters: final });
  });

  it.each([
    [
      { inputs: [{ name: 'X', datatype: 'INT32', shape: [1], parameters: { binary_data_size: 4 } }] },
      '',
      "an input with 'binary_data_size' needs subprotocol weir.v2.binary",
    ],
    [
      { inputs: [], outputs: [{ name: 'Y', parameters: { binary_data: true } }] },
      'a',
      "'binary_data' of output 'Y' needs subprotocol weir.v2.binary",
    ],
    [{ inputs: [], parameters: { binary_data_output: true } }, 'a', "'binary_data_output' needs subprotocol weir.v2.binary"],
  ])('says that the JSON subprotocol has no binary tensors', async (body, id, error) => {
    const client = await connect('/v2/models/identity/stream');
    client.send({ id: 'a', ...body });
    expect((await client.receive()).json).toEqual({ id, error, code: 'INVALID_ARGUMENT', parameters: final });
  });

  it('comes in place of an answer that JSON cannot carry', async () => {
    const manual = new ManualModel();
    const client = await connect('/v2/models/manual/stream', 'weir.v2.json', { manual: manual.infer });
    client.send({ id: 'a', inputs: [] });
    await manual.started(1);
    const [run] = manual.runs;
    if (run !== undefined) run.responses.next(answer(run.request, { outputs: new Map([['H', new Tensor('FP16', [1], Buffer.alloc(2))]]) }));
    expect((await client.receive()).json).toMatchObject({
      id: 'a',
      error: expect.stringMatching(/sending FP16 data via JSON/),
      parameters: final,
    });
    await manual.idle();
  });

  it('refuses an id that is in flight, and only then', async () => {
    const manual = new ManualModel();
    const client = await connect('/v2/models/manual/stream', 'weir.v2.json', { manual: manual.infer });
    for (const id of ['a', '', 'a', '']) client.send({ id, inputs: [] });
    expect((await client.receive()).json).toEqual({
      id: 'a',
      error: "request id 'a' is in flight on this connection already",
      code: 'ALREADY_EXISTS',
      parameters: final,
    });
    await manual.started(3);
    manual.finish(0);
    expect((await client.receive()).json).toMatchObject({ id: 'a', outputs: [] });
    client.send({ id: 'a', inputs: [] });
    await manual.started(4);
    manual.finish(3);
    expect((await client.receive()).json).toMatchObject({ id: 'a', outputs: [] });
  });
});

describe('a cancel', () => {
  it('stops its request and no other', async () => {
    const manual = new ManualModel();
    const client = await connect('/v2/models/manual/stream', 'weir.v2.json', { manual: manual.infer });
    for (const id of ['a', 'b']) client.send({ id, inputs: [] });
    await manual.started(2);
    client.send({ cancel: 'a' });
    expect((await client.receive()).json).toEqual({
      id: 'a',
      error: 'request was cancelled',
      code: 'CANCELLED',
      parameters: { triton_final_response: true },
    });
    expect(manual.cancelled).toBe(1);
    manual.finish(1);
    expect((await client.receive()).json).toMatchObject({ id: 'b', outputs: [] });
    expect(manual.cancelled).toBe(1);
  });

  it('of an unknown id, or of one that has ended, is passed over', async () => {
    const client = await connect('/v2/models/identity/stream');
    client.send({ cancel: 'nobody' });
    client.send({ id: 'a', inputs: [] });
    expect((await client.receive()).json.id).toBe('a');
    client.send({ cancel: 'a' });
    client.send({ id: 'b', inputs: [] });
    expect((await client.receive()).json.id).toBe('b');
  });
});
