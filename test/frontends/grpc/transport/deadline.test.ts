import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Tensor } from '../../../../src/streams/tensors/tensor.ts';
import { until } from '../../../support/until.ts';
import { encode, type Fields, messageType } from '../support/client.ts';
import { echo, filling, HeldModel, TestDataPlane, variableSpec } from '../support/data-plane.ts';
import { nothingIsLeft } from '../support/nothing-left.ts';
import { framed, type RawCall, RawClient } from '../support/raw-client.ts';
import { type Serving, serve } from '../support/serving.ts';

const mebibyte = 2 ** 20;
const largeTensor = new Tensor('UINT8', [mebibyte], new Uint8Array(mebibyte));
const hourMs = 3_600_000;
const cancelled = 8;
const service = '/inference.GRPCInferenceService';
const unaryPath = `${service}/ModelInfer`;
const streamPath = `${service}/ModelStreamInfer`;
const deadlineExceeded = { code: '4', message: 'Deadline%20Exceeded', resetCode: 0 };

let held: HeldModel;
let dataPlane: TestDataPlane;
let serving: Serving;
let client: RawClient;

// Time passes when the test says so, sockets work as ever.
beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  held = new HeldModel();
  dataPlane = new TestDataPlane()
    .add(variableSpec('held'), held.infer)
    .add(variableSpec('held_many', { decoupled: true }), held.infer)
    .add(variableSpec('fill'), filling);
  serving = await serve(dataPlane, { keepaliveTimeMs: Number.MAX_SAFE_INTEGER });
  client = new RawClient(serving.server.port);
});

// Whatever a call did, its connection serves others, and nothing of it is left.
afterEach(async () => {
  const call = ask(`${service}/ServerLive`, Buffer.alloc(0), undefined);
  expect(await call.closed).toMatchObject({ code: '0' });
  await nothingIsLeft(dataPlane, serving);
  expect(vi.getTimerCount()).toBe(1);
  client.cut();
  await serving.stop();
  await until(() => vi.getTimerCount() === 0);
  vi.useRealTimers();
});

const requestTo = (model: string, bytes: Buffer = Buffer.of(1), fields: Fields = {}): Buffer =>
  encode(messageType('inference.ModelInferRequest'), {
    model_name: model,
    inputs: [{ name: 'IN', datatype: 'UINT8', shape: [bytes.length] }],
    raw_input_contents: [bytes],
    ...fields,
  });

const ask = (path: string, message: Buffer, timeout: string | undefined, encoding?: string): RawCall => {
  const call = client.call(path, { 'grpc-timeout': timeout, 'grpc-encoding': encoding });
  void call.sendBytes(framed(message, encoding === undefined ? 0 : 1));
  call.halfClose();
  return call;
};

const size = (bytes: number): Buffer => {
  const size = Buffer.alloc(4);
  size.writeUInt32LE(bytes);
  return size;
};

describe('a deadline', () => {
  it.each([unaryPath, streamPath])('ends the call when it comes, not before, and its model is told: %s', async (path) => {
    const call = ask(path, requestTo('held'), '1000m');
    await held.holds(1);
    vi.advanceTimersByTime(999);
    expect(held.cancelled).toBe(0);
    vi.advanceTimersByTime(1);
    expect(held.cancelled).toBe(1);
    expect(await call.closed).toMatchObject({ ...deadlineExceeded, messages: [] });
  });

  it('that is over at once ends it at once', async () => {
    expect(await ask(unaryPath, requestTo('held'), '0n').closed).toMatchObject(deadlineExceeded);
  });

  it('that lies in the far future lets it live', async () => {
    const call = ask(unaryPath, requestTo('held'), '99999999H');
    await held.holds(1);
    for (let hour = 0; hour < 10_000; hour += 100) vi.advanceTimersByTime(100 * hourMs);
    held.at(0).finish();
    expect(await call.closed).toMatchObject({ code: '0' });
  });

  it('comes after what was answered before', async () => {
    const call = client.call(streamPath, { 'grpc-timeout': '1S' });
    call.send(requestTo('held_many'));
    await held.holds(1);
    held.at(0).next();
    await call.firstBytes;
    vi.advanceTimersByTime(1000);
    const end = await call.closed;
    expect(end).toMatchObject(deadlineExceeded);
    expect([end.messages.length, end.headers['grpc-status'], held.cancelled]).toEqual([1, undefined, 1]);
  });

  it('changes nothing once the call is over', async () => {
    const call = ask(unaryPath, requestTo('held'), '1S');
    await held.holds(1);
    held.at(0).finish();
    expect(await call.closed).toMatchObject({ code: '0' });
    vi.advanceTimersByTime(1000);
    expect(held.cancelled).toBe(0);
  });

  it.each([unaryPath, streamPath])('cuts answers that the client does not read, and gives their memory back: %s', async (path) => {
    const call = client.call(path, { 'grpc-timeout': '1S' });
    call.pause();
    // What the transport has taken of a stream is not counted, what waits behind it is.
    for (let asked = 0; asked < (path === unaryPath ? 1 : 2); asked++) call.send(requestTo('fill', size(4 * mebibyte)));
    call.halfClose();
    await until(() => serving.server.counters().outboxBytes > 0);
    vi.advanceTimersByTime(1000);
    expect(serving.server.counters().outboxBytes).toBe(0);
    expect(await call.closed).toMatchObject({ code: undefined, resetCode: cancelled });
  });

  it('cuts a stream whose model waits for its reader', async () => {
    const call = client.call(streamPath, { 'grpc-timeout': '1S' });
    call.pause();
    call.send(requestTo('held_many'));
    await held.holds(1);
    const { request } = held.at(0);
    const { outputs } = echo({ ...request, inputs: new Map([['IN', largeTensor]]) });
    for (let sent = 0; sent < 20; sent++) held.at(0).next({ outputs });
    vi.advanceTimersByTime(1000);
    expect([held.cancelled, serving.server.counters().outboxBytes]).toEqual([1, 0]);
    expect(await call.closed).toMatchObject({ code: undefined, resetCode: cancelled });
  });

  // Whether it comes first or the message is not known; it must be the same.
  it('ends a call whose message is being decompressed, and no model hears of it', async () => {
    const message = gzipSync(requestTo('held', Buffer.alloc(32 * mebibyte)));
    for (const path of [unaryPath, streamPath]) {
      const call = ask(path, message, '1S', 'gzip');
      await until(() => serving.server.counters().calls === 1);
      vi.advanceTimersByTime(1000);
      expect(await call.closed).toMatchObject(deadlineExceeded);
    }
    const last = ask(unaryPath, message, undefined, 'gzip');
    await held.holds(1);
    held.at(0).finish();
    expect(await last.closed).toMatchObject({ code: '0' });
    expect(held.cancelled).toBe(0);
  });

  it('ends a call whose message never comes whole', async () => {
    const call = client.call(unaryPath, { 'grpc-timeout': '1S' });
    await call.sendBytes(framed(requestTo('held')).subarray(0, -1));
    await until(() => serving.server.counters().calls === 1);
    vi.advanceTimersByTime(1000);
    expect(await call.closed).toMatchObject(deadlineExceeded);
  });
});
