import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2';
import { deflateSync, gzipSync } from 'node:zlib';
import { throwError } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { InferError } from '../../../../src/streams/inference/error.ts';
import type { InferRequest } from '../../../../src/streams/inference/request.ts';
import { until } from '../../../support/until.ts';
import { decode, encode, type Fields, messageType } from '../support/client.ts';
import { echoing, HeldModel, TestDataPlane, variableSpec } from '../support/data-plane.ts';
import { DeafClient } from '../support/deaf-client.ts';
import { nothingIsLeft } from '../support/nothing-left.ts';
import { framed, type RawCall, RawClient, type RawEnd } from '../support/raw-client.ts';
import { type Serving, serve } from '../support/serving.ts';

const mebibyte = 2 ** 20;
const service = '/inference.GRPCInferenceService';
const unaryPath = `${service}/ModelInfer`;
const streamPath = `${service}/ModelStreamInfer`;
const livePath = `${service}/ServerLive`;
const empty = Buffer.alloc(0);

let held: HeldModel;
let lastRequest: InferRequest | undefined;
let dataPlane: TestDataPlane;
let serving: Serving;
let client: RawClient;

beforeEach(async () => {
  held = new HeldModel();
  dataPlane = new TestDataPlane()
    .add(variableSpec('held'), held.infer)
    .add(variableSpec('echo'), (request) => {
      lastRequest = request;
      return echoing(request);
    })
    .add(variableSpec('failing'), () => throwError(() => new InferError('NOT_FOUND', 'nichts für „ü“: 100 %\n', { reason: 'BACKEND' })));
  serving = await serve(dataPlane);
  client = new RawClient(serving.server.port);
});

// Whatever a call did, its connection serves others, and nothing of it is left.
afterEach(async () => {
  expect(await send(livePath, [framed(empty)])).toMatchObject({ code: '0' });
  await nothingIsLeft(dataPlane, serving);
  client.cut();
  await serving.stop();
});

/** Half-closes after these bytes. */
const send = (path: string, pieces: readonly Buffer[], headers?: OutgoingHttpHeaders): Promise<RawEnd> => {
  const call = client.call(path, headers);
  for (const piece of pieces) void call.sendBytes(piece);
  call.halfClose();
  return call.closed;
};

const requestTo = (model: string, fields: Fields = {}, bytes = Buffer.of(1)): Buffer =>
  encode(messageType('inference.ModelInferRequest'), {
    model_name: model,
    inputs: [{ name: 'IN', datatype: 'UINT8', shape: [bytes.length] }],
    raw_input_contents: [bytes],
    ...fields,
  });

/** Whatever the client makes of the answer: the model has been asked, and nothing is left. */
const isServed = async (call: Pick<RawCall, 'send' | 'halfClose'>): Promise<void> => {
  call.send(requestTo('held'));
  call.halfClose();
  await held.holds(1);
  held.at(0).finish();
  await nothingIsLeft(dataPlane, serving);
};

const answersIn = ({ messages }: RawEnd): readonly Fields[] =>
  messages.map((message) => decode(messageType('inference.ModelInferResponse'), message));

const withStatus = ({ trailers }: RawEnd): IncomingHttpHeaders => ({
  'grpc-status': trailers['grpc-status'],
  'grpc-message': trailers['grpc-message'],
});

describe('the headers of a call', () => {
  it.each(['application/json', 'application/grp', 'text/plain', '', undefined])(
    'must have a content type of gRPC, not %s',
    async (type) => {
      const { status, code, messages } = await send(livePath, [framed(empty)], { 'content-type': type });
      expect([status, code, messages]).toEqual([415, undefined, []]);
    },
  );

  it.each(['application/grpc', 'application/grpc+proto'])('may have the content type %s', async (type) => {
    expect(await send(livePath, [framed(empty)], { 'content-type': type })).toMatchObject({ status: 200, code: '0' });
  });

  it.each(['/', '/nobody/Knows', `${livePath}/`, '/inference.grpcinferenceservice/ServerLive', '/a%20b'])(
    'may name what nobody serves: %s',
    async (path) => {
      const { status, code, message = '', headers } = await send(path, [framed(empty)]);
      expect([status, code, decodeURIComponent(message)]).toEqual([200, '12', `The server does not implement the method ${path}`]);
      expect(headers['content-type']).toBe('application/grpc+proto');
    },
  );

  it.each(['', '1', '1s', '123456789S', '-1S'])('may name %j for a deadline, which is none', async (timeout) => {
    for (const path of [unaryPath, streamPath]) {
      const { code, message = '' } = await send(path, [framed(requestTo('held'))], { 'grpc-timeout': timeout });
      expect([code, decodeURIComponent(message)]).toEqual(['13', `Invalid grpc-timeout value "${timeout}"`]);
    }
    expect(held.cancelled).toBe(0);
  });

  it('are forwarded with every value of a key, the last of them for the parameter, and binary ones read', async () => {
    const forwarding = await serve(dataPlane, { headerForwardPattern: '.*' });
    const asking = new RawClient(forwarding.server.port);
    const call = asking.call(unaryPath, {
      'x-several': ['1', '2', '3'],
      'x-one-bin': Buffer.from('ü').toString('base64'),
      'x-two-bin': 'YQ==,Yg',
      'grpc-timeout': '1H',
      'grpc-encoding': 'identity',
      'grpc-accept-encoding': 'gzip',
    });
    call.send(requestTo('echo'));
    call.halfClose();
    expect(await call.closed).toMatchObject({ code: '0' });
    asking.cut();
    await forwarding.stop();
    expect(lastRequest?.parameters).toEqual(
      new Map([
        ['x-several', '3'],
        ['x-one-bin', 'ü'],
        ['x-two-bin', 'b'],
      ]),
    );
  });
});

describe('messages', () => {
  it('may come many in a frame', async () => {
    const deaf = await DeafClient.open(serving.server.port, 'default');
    const ids = Array.from({ length: 50 }, (_, index) => `request ${index}`);
    await deaf.call(streamPath).sendFrame(Buffer.concat(ids.map((id) => framed(requestTo('held', { id })))));
    await held.holds(50);
    expect(held.held.map(({ request }) => request.id)).toEqual(ids);
    deaf.close();
    await held.holds(0);
  });

  it('may come one in many frames, of a byte each', async () => {
    const deaf = await DeafClient.open(serving.server.port, 'default');
    const bytes = Buffer.from('one byte after the other');
    const call = deaf.call(unaryPath);
    for (const byte of framed(requestTo('held', { id: 'slow' }, bytes))) await call.sendFrame(Buffer.of(byte));
    call.halfClose();
    await held.holds(1);
    expect(held.at(0).request).toMatchObject({ id: 'slow' });
    expect(Buffer.from(held.at(0).request.inputs.get('IN')?.bytes ?? [])).toEqual(bytes);
    held.at(0).finish();
    await nothingIsLeft(dataPlane, serving);
    deaf.close();
  });

  it('may come in frames without any data', async () => {
    const deaf = await DeafClient.open(serving.server.port, 'default');
    const call = deaf.call(unaryPath);
    for (const piece of [empty, framed(requestTo('held')), empty]) await call.sendFrame(piece);
    call.halfClose();
    await held.holds(1);
    held.at(0).finish();
    await nothingIsLeft(dataPlane, serving);
    deaf.close();
  });

  it('are one in a call that takes one, neither two nor none', async () => {
    const request = framed(requestTo('held'));
    expect(await send(unaryPath, [request, request])).toMatchObject({
      code: '12',
      message: 'a%20second%20message%20in%20a%20call%20that%20takes%20one',
    });
    expect(await send(unaryPath, [])).toMatchObject({ code: '12', message: 'no%20message%20in%20a%20call%20that%20takes%20one' });
    expect(held.cancelled).toBe(0);
  });

  it.each([1, 4, 5, 20])('are not cut off after %i bytes', async (length) => {
    for (const path of [unaryPath, streamPath]) {
      const end = await send(path, [framed(requestTo('held')).subarray(0, length)]);
      expect(end).toMatchObject({ code: '13', message: 'the%20call%20ended%20within%20a%20message' });
    }
  });

  it('are answered before one of a stream that is cut off ends it', async () => {
    const request = framed(requestTo('echo'));
    const end = await send(streamPath, [request, request, request.subarray(0, -1)]);
    expect(end.code).toBe('13');
    expect(end.messages.length).toBeLessThanOrEqual(2);
  });

  it('are not longer than 2 GiB, by what their prefix says', async () => {
    const call = client.call(unaryPath);
    void call.sendBytes(Buffer.concat([Buffer.of(0, 0x80, 0, 0, 0), Buffer.alloc(mebibyte)]));
    const { code, message = '' } = await call.answered;
    expect([code, decodeURIComponent(message)]).toEqual(['8', 'Received message larger than max (2147483648 vs. 2147483647)']);
  });

  it('do not begin with anything else than 0 or 1', async () => {
    expect(await send(unaryPath, [framed(requestTo('held'), 2)])).toMatchObject({ code: '13' });
  });
});

describe('compressed messages', () => {
  const request = requestTo('echo', {}, Buffer.alloc(100_000, 5));

  it.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
  ])('by %s are read, others of the same stream as they are', async (encoding, compress) => {
    const compressed = framed(compress(request), 1);
    const end = await send(unaryPath, [compressed], { 'grpc-encoding': encoding });
    expect(end).toMatchObject({ code: '0' });
    expect(answersIn(end)).toMatchObject([{ raw_output_contents: [Buffer.alloc(100_000, 5)] }]);
    const plain = (id: string) => framed(requestTo('echo', { id }));
    const zipped = (id: string) => framed(compress(requestTo('echo', { id })), 1);
    const stream = await send(streamPath, [Buffer.concat([zipped('a'), plain('b'), zipped('c'), zipped('d'), plain('e')])], {
      'grpc-encoding': encoding,
    });
    const ids = stream.messages
      .map((message) => decode(messageType('inference.ModelStreamInferResponse'), message).infer_response as Fields)
      .map(({ id }) => id);
    expect([stream.code, ids.join('')]).toEqual(['0', 'abcde']);
  });

  it.each([undefined, 'identity'])('are no messages where the encoding is %s', async (encoding) => {
    const end = await send(unaryPath, [framed(gzipSync(request), 1)], { 'grpc-encoding': encoding });
    expect(end).toMatchObject({ code: '13', messages: [] });
  });

  it('are refused where the encoding is not known, with the names of those that are', async () => {
    const { code, message = '', headers } = await send(unaryPath, [framed(request, 1)], { 'grpc-encoding': 'snappy' });
    expect([code, decodeURIComponent(message)]).toEqual(['12', 'Received message compressed with unsupported encoding "snappy"']);
    expect(headers['grpc-accept-encoding']).toBe('identity,gzip,deflate');
  });

  it('end the call where they are not', async () => {
    for (const path of [unaryPath, streamPath]) {
      const end = await send(path, [framed(request, 1)], { 'grpc-encoding': 'gzip' });
      expect(end).toMatchObject({ code: '13', message: 'Failed%20to%20decompress%20message' });
    }
  });

  it('do not reach a model whose call has gone meanwhile', async () => {
    const call = client.call(unaryPath, { 'grpc-encoding': 'gzip' });
    await call.sendBytes(framed(gzipSync(requestTo('held', {}, Buffer.alloc(16 * mebibyte))), 1));
    await until(() => serving.server.counters().calls === 1);
    call.cancel();
    await call.closed;
    await nothingIsLeft(dataPlane, serving);
    expect(held.held).toEqual([]);
  });
});

describe('the end of a call', () => {
  it('that went well is a status alone, after its answer', async () => {
    const end = await send(unaryPath, [framed(requestTo('echo'))]);
    expect([end.status, end.messages.length, end.headers['grpc-status'], withStatus(end), end.resetCode]).toEqual([
      200,
      1,
      undefined,
      { 'grpc-status': '0', 'grpc-message': undefined },
      0,
    ]);
  });

  it('that did not comes with the headers, its text percent-encoded', async () => {
    const { headers, messages, message = '' } = await send(unaryPath, [framed(requestTo('failing'))]);
    expect([headers['grpc-status'], messages]).toEqual(['5', []]);
    expect(message).toMatch(/^[\x21-\x7e]+$/);
    expect(decodeURIComponent(message)).toBe('nichts für „ü“: 100 %\n');
  });

  it('comes after the answers that a stream has had', async () => {
    const end = await send(streamPath, [framed(requestTo('echo')), framed(requestTo('failing'))], { triton_grpc_error: 'true' });
    expect([end.messages.length, end.headers['grpc-status'], end.trailers['grpc-status']]).toEqual([1, undefined, '5']);
  });

  it('ends it for a client that has not half-closed, and would keep its connection from being closed', async () => {
    const request = framed(requestTo('echo'));
    const ends: [string, OutgoingHttpHeaders, readonly Buffer[], RegExp][] = [
      ['/nobody/Knows', {}, [request], /^12$/],
      [livePath, { 'content-type': 'text/plain' }, [request], /^undefined$/],
      [unaryPath, {}, [request, request], /^12$/],
      [unaryPath, { 'grpc-timeout': 'soon' }, [], /^13$/],
      [unaryPath, { 'grpc-encoding': 'snappy' }, [framed(empty, 1)], /^12$/],
      [streamPath, {}, [framed(Buffer.of(255))], /^13$/],
      [streamPath, { triton_grpc_error: 'true' }, [request, framed(requestTo('failing'))], /^5$/],
    ];
    const other = await serve(dataPlane);
    const open = new RawClient(other.server.port);
    for (const [path, headers, pieces, code] of ends) {
      const call = open.call(path, headers);
      for (const piece of pieces) void call.sendBytes(piece);
      const end = await call.closed;
      expect(String(end.code)).toMatch(code);
      expect(end.resetCode).toBe(0);
    }
    await other.server.close(new AbortController().signal);
    open.cut();
    await other.stop();
  });

  it('leaves nothing where HTTP allows no answer with a body', async () => {
    const deaf = await DeafClient.open(serving.server.port, 'default');
    await isServed(deaf.call(unaryPath, 'HEAD'));
    deaf.close();
  });
});

describe('what a client sends to a call that is over', () => {
  it.each([
    ['refused', '/nobody/Knows', empty],
    ['ended', unaryPath, Buffer.concat([framed(empty), framed(empty)])],
  ])('takes nothing from the window of its connection: %s', async (_, path, first) => {
    const calls = Array.from({ length: 8 }, () => client.call(path));
    // Together twice the window.
    for (const call of calls) void call.sendBytes(Buffer.concat([first, Buffer.alloc(4 * mebibyte)]));
    // Node never closes a stream whose bytes it could not send.
    expect((await Promise.all(calls.map(({ answered }) => answered))).map(({ code }) => code)).toEqual(calls.map(() => '12'));
    const end = await send(unaryPath, [framed(requestTo('echo', {}, Buffer.alloc(6 * mebibyte)))]);
    expect(end).toMatchObject({ code: '0' });
  });

  it('is dropped where it goes on without a look at what came back', async () => {
    const deaf = await DeafClient.open(serving.server.port, 'default');
    const over = deaf.call('/nobody/Knows');
    const ended = deaf.call(unaryPath);
    await ended.sendFrame(Buffer.concat([framed(empty), framed(empty)]));
    // Together more than the window of the connection.
    for (let sent = 0; sent < 20 * mebibyte; sent += 2 ** 15) for (const call of [over, ended]) await call.sendFrame(Buffer.alloc(2 ** 14));
    await isServed(deaf.call(unaryPath));
    deaf.close();
  });
});

describe('the memory of messages', () => {
  const messageBytes = (): number => serving.server.counters().messageBytes;

  it.each([
    ['of many pieces', undefined, (bytes: Buffer) => framed(bytes)],
    ['compressed', { 'grpc-encoding': 'gzip' }, (bytes: Buffer) => framed(gzipSync(bytes), 1)],
  ])('is counted until the call is over: %s', async (_, headers, asMessage) => {
    const call = client.call(unaryPath, headers);
    void call.sendBytes(asMessage(requestTo('held', {}, Buffer.alloc(mebibyte))));
    call.halfClose();
    await held.holds(1);
    expect(messageBytes()).toBeGreaterThanOrEqual(mebibyte);
    held.at(0).finish();
    expect((await call.closed).trailers['grpc-status']).toBe('0');
  });

  it('is counted of one that never comes whole', async () => {
    const call = client.call(unaryPath);
    void call.sendBytes(framed(Buffer.alloc(4 * mebibyte)).subarray(0, mebibyte));
    await until(() => messageBytes() >= mebibyte);
    call.cancel();
  });

  it('is counted of one that nobody waits for any more when it has been decompressed', async () => {
    const call = client.call(unaryPath, { 'grpc-encoding': 'gzip' });
    void call.sendBytes(framed(gzipSync(Buffer.alloc(64 * mebibyte)), 1));
    await until(() => messageBytes() > 0);
    call.cancel();
  });
});
