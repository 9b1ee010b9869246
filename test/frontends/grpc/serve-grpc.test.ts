import { once } from 'node:events';
import http2 from 'node:http2';
import { connect } from 'node:net';
import { status } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { serveGrpc } from '../../../src/frontends/grpc/serve-grpc.ts';
import { InferError } from '../../../src/streams/inference/error.ts';
import { GrpcClient } from './support/client.ts';
import { echoing, HeldModel, TestDataPlane, variableSpec } from './support/data-plane.ts';
import { grpcConfig, noCounts, type Serving, serve } from './support/serving.ts';

const shuttingDown = {
  code: status.UNAVAILABLE,
  details: 'GRPC server is shutting down and has stopped accepting new requests.',
};

let held: HeldModel;
let dataPlane: TestDataPlane;

const ask = (model: string, id = '') => ({
  model_name: model,
  id,
  inputs: [{ name: 'IN', datatype: 'UINT8', shape: [1] }],
  raw_input_contents: [Buffer.of(1)],
});

beforeEach(() => {
  held = new HeldModel();
  dataPlane = new TestDataPlane().add(variableSpec('held'), held.infer).add(variableSpec('echo'), echoing);
});

describe('the port', () => {
  it('must be free', async () => {
    const first = await serveGrpc(dataPlane, grpcConfig());
    const second = serveGrpc(dataPlane, grpcConfig({ port: first.port }));
    await expect(second).rejects.toThrow(new InferError('UNAVAILABLE', `Socket '127.0.0.1:${first.port}' already in use `));
    await expect(second).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await first.close(AbortSignal.abort());
  });

  it('is shared by servers that all say so', async () => {
    const first = await serveGrpc(dataPlane, grpcConfig({ reusePort: true }));
    const second = await serveGrpc(dataPlane, grpcConfig({ port: first.port, reusePort: true }));
    expect(second.port).toBe(first.port);
    await expect(serveGrpc(dataPlane, grpcConfig({ port: first.port }))).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await Promise.all([first.close(AbortSignal.abort()), second.close(AbortSignal.abort())]);
  });

  it('is not opened with a pattern that is none', async () => {
    await expect(serveGrpc(dataPlane, grpcConfig({ headerForwardPattern: '(' }))).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  it('takes what speaks no HTTP/2 without harm', async () => {
    const server = await serveGrpc(dataPlane, grpcConfig());
    const socket = connect(server.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.resume();
    socket.end('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await once(socket, 'close');
    const client = new GrpcClient(server.port);
    expect(await client.call('ServerLive', {})).toEqual({ live: true });
    client.close();
    await server.close(AbortSignal.timeout(10_000));
  });
});

describe('closing', () => {
  let serving: Serving;

  beforeEach(async () => {
    serving = await serve(dataPlane);
  });
  afterEach(() => serving.client.close());

  it('lets calls in flight end and refuses new ones', async () => {
    const { server, client } = serving;
    const answer = client.infer(ask('held', 'a'));
    await held.holds(1);
    const closed = server.close(new AbortController().signal);
    await expect(client.infer(ask('echo'))).rejects.toMatchObject(shuttingDown);
    await expect(client.call('ServerLive', {})).rejects.toMatchObject(shuttingDown);
    expect((await client.stream().ended).status).toMatchObject(shuttingDown);
    held.at(0).finish();
    expect(await answer).toMatchObject({ id: 'a' });
    await closed;
  });

  it('answers what a stream has asked, refuses what it asks now, and ends it then', async () => {
    const { server, client } = serving;
    const stream = client.stream();
    stream.send(ask('held', 'a'));
    await held.holds(1);
    const closed = server.close(new AbortController().signal);
    stream.send(ask('echo', 'b'));
    // One message of the call after the other: the refusal waits for its turn.
    while (server.counters().requestsInFlight < 2) await client.call('ServerLive', {}).catch(() => {});
    held.at(0).finish();
    const { messages, status: end } = await stream.ended;
    expect(messages).toMatchObject([
      { error_message: '', infer_response: { id: 'a' } },
      { error_message: shuttingDown.details, infer_response: { id: 'b', model_name: '' } },
    ]);
    expect(end).toMatchObject(shuttingDown);
    await closed;
  });

  it('ends streams that ask nothing', async () => {
    const { server, client } = serving;
    const stream = client.stream();
    stream.send(ask('echo'));
    await stream.received(1);
    await server.close(new AbortController().signal);
    expect((await stream.ended).status).toMatchObject(shuttingDown);
  });

  it('cuts what is left at the deadline', async () => {
    const { server, client } = serving;
    const deadline = new AbortController();
    const answer = client.infer(ask('held'));
    const stream = client.stream();
    stream.send(ask('held'));
    await held.holds(2);
    const closed = server.close(deadline.signal);
    deadline.abort();
    await closed;
    await expect(answer).rejects.toMatchObject({ code: expect.any(Number) });
    expect((await stream.ended).status.code).not.toBe(status.OK);
    await held.holds(0);
    expect(held.cancelled).toBe(2);
    expect(server.counters()).toEqual(noCounts);
  });

  it('leaves no socket and no timer behind', async () => {
    serving.client.close();
    await serving.server.close(AbortSignal.abort());
    const countHandles = (): number => process.getActiveResourcesInfo().filter((name) => /^(TCP|Timeout)/.test(name)).length;
    const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
    await turn();
    const before = countHandles();
    for (let cycle = 0; cycle < 20; cycle++) {
      const { server, client } = await serve(dataPlane, { maxConnectionAgeMs: 60_000, maxConnectionAgeGraceMs: 60_000 });
      await client.infer(ask('echo'));
      const stream = client.stream(undefined, { deadline: Date.now() + 60_000 });
      stream.send(ask('echo'));
      await stream.received(1);
      await server.close(AbortSignal.timeout(30_000));
      client.close();
    }
    for (let turns = 0; turns < 20; turns++) await turn();
    // The deadlines of `AbortSignal.timeout` do not count: they hold no process.
    expect(countHandles()).toBeLessThanOrEqual(before);
  });
});

describe('a connection', () => {
  it('is cut when it does not answer pings', async () => {
    const server = await serveGrpc(dataPlane, grpcConfig({ keepaliveTimeMs: 20, keepaliveTimeoutMs: 20 }));
    const socket = connect(server.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.resume();
    socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
    socket.write(Buffer.of(0, 0, 0, 4, 0, 0, 0, 0, 0));
    await once(socket, 'close');
    await server.close(AbortSignal.abort());
  });

  it('is told to go away at its age, and its calls end', async () => {
    const { server, client, stop } = await serve(dataPlane, { maxConnectionAgeMs: 50 });
    const session = http2.connect(`http://127.0.0.1:${server.port}`);
    const answer = client.infer(ask('held', 'old'));
    await held.holds(1);
    const [code, , reason] = await once(session, 'goaway');
    expect([code, String(reason)]).toEqual([http2.constants.NGHTTP2_NO_ERROR, 'max_age']);
    await once(session, 'close');
    held.at(0).finish();
    expect(await answer).toMatchObject({ id: 'old' });
    await stop();
  });
});
