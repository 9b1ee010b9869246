import { once } from 'node:events';
import { connect } from 'node:net';
import { interval, map } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { machineScheduler } from '../../../src/streams/flow/clock.ts';
import { produce } from '../../../src/streams/flow/produce.ts';
import type { Infer } from '../../../src/streams/inference/infer.ts';
import { Tensor } from '../../../src/streams/tensors/tensor.ts';
import { until } from '../../support/until.ts';
import { VirtualTime } from '../../support/virtual-time.ts';
import type { Client } from './support/client.ts';
import { connectClient, refusal } from './support/client.ts';
import { answer, identity, ManualModel } from './support/models.ts';
import type { TestServer } from './support/start.ts';
import { startWebSocket } from './support/start.ts';

let server: TestServer;
afterEach(() => server.stop());

/** Resolves once no connection is open; each close is an event of the server's own that no client can see. */
const allClosed = async (): Promise<void> => {
  while (server.frontEnd.connections().open > 0) await new Promise(setImmediate);
};

const open = (path: string, protocol = 'weir.v2.json'): Promise<Client> => connectClient(server.origin + path, [protocol]);

describe('a connection', () => {
  it.each(['weir.v2.json', 'weir.v2.binary'])('on %s is closed with 1003 by a frame of the wrong type', async (protocol) => {
    const manual = new ManualModel();
    server = await startWebSocket({ manual: manual.infer });
    const client = await open('/v2/models/manual/stream', protocol);
    client.send({ inputs: [] });
    await manual.started(1);
    client.webSocket.send(Buffer.from('{}'), { binary: protocol === 'weir.v2.json' });
    expect(await client.closed).toBe(1003);
    expect(manual.cancelled).toBe(1);
    await allClosed();
    expect(server.frontEnd.connections().closes).toEqual(new Map([[1003, 1]]));
  });

  it('is closed with 1009 by a message over the limit, and takes one at the limit', async () => {
    server = await startWebSocket({ identity }, { maxMessageBytes: 1000 });
    const client = await open('/v2/models/identity/stream');
    const body = '{"id":"a","inputs":[]}';
    client.webSocket.send(body.padEnd(1000));
    expect((await client.receive()).json.id).toBe('a');
    client.webSocket.send(body.padEnd(1001));
    expect(await client.closed).toBe(1009);
    await allClosed();
    expect(server.frontEnd.connections().closes).toEqual(new Map([[1009, 1]]));
  });

  it('that is cut off cancels its requests, counts once and spams no log', async () => {
    const manual = new ManualModel();
    server = await startWebSocket({ manual: manual.infer });
    const client = await open('/v2/models/manual/stream');
    for (let index = 0; index < 5; index++) client.send({ inputs: [] });
    await manual.started(5);
    expect(server.frontEnd.connections()).toMatchObject({ open: 1, requestsInFlight: 5 });
    client.webSocket.terminate();
    await manual.idle();
    await allClosed();
    expect(manual.cancelled).toBe(5);
    expect(server.frontEnd.connections()).toEqual({ open: 0, requestsInFlight: 0, outboxBytes: 0, closes: new Map([[1006, 1]]) });
    expect(server.logged).toEqual([]);
  });

  it('that the client closes cancels its requests', async () => {
    const manual = new ManualModel();
    server = await startWebSocket({ manual: manual.infer });
    const client = await open('/v2/models/manual/stream');
    client.send({ inputs: [] });
    await manual.started(1);
    expect(await client.close()).toBe(1000);
    await manual.idle();
    expect(manual.cancelled).toBe(1);
  });

  it('may go away together with a hundred others amid their answers', async () => {
    const flood: Infer = (request) => interval(0).pipe(map(() => answer(request, { outputs: request.inputs, isLast: false })));
    server = await startWebSocket({ flood });
    const clients = await Promise.all(Array.from({ length: 100 }, () => open('/v2/models/flood/stream')));
    for (const client of clients) client.send({ inputs: [{ name: 'X', datatype: 'INT32', shape: [1], data: [1] }] });
    await Promise.all(clients.map((client) => client.receive()));
    for (const client of clients) client.webSocket.terminate();
    await allClosed();
    const { requestsInFlight, outboxBytes, closes } = server.frontEnd.connections();
    expect({ requestsInFlight, outboxBytes, closes }).toEqual({ requestsInFlight: 0, outboxBytes: 0, closes: new Map([[1006, 100]]) });
    expect(server.logged).toEqual([]);
  });

  it('has no more requests in flight than its limit, however many messages come', async () => {
    const manual = new ManualModel();
    server = await startWebSocket({ manual: manual.infer }, { maxInflight: 3 });
    const client = await open('/v2/models/manual/stream');
    for (let index = 0; index < 500; index++) client.send({ id: `${index}`, inputs: [] });
    for (let index = 0; index < 500; index++) {
      await manual.started(index + 1);
      manual.finish(index);
      expect((await client.receive()).json.id).toBe(`${index}`);
    }
    expect(manual.mostRunning).toBe(3);
  });

  it('ends a stream whose answers nobody reads, and goes on when they are read', async () => {
    const MiB = 1024 * 1024;
    const bytes = Buffer.alloc(MiB, 7);
    const manual = new ManualModel();
    server = await startWebSocket({ identity, manual: manual.infer }, { pauseAboveBytes: MiB, refuseAboveBytes: 4 * MiB });
    const client = await open('/v2/stream', 'weir.v2.binary');
    client.send({ model_name: 'manual', id: 'flood', inputs: [], parameters: { binary_data_output: true } });
    await manual.started(1);
    client.webSocket.pause();
    const [run] = manual.runs;
    let mostWaiting = 0;
    for (let index = 0; index < 1024 && manual.cancelled === 0; index++) {
      const outputs = new Map([['X', new Tensor('UINT8', [MiB], bytes)]]);
      if (run !== undefined) run.responses.next(answer(run.request, { outputs, isLast: false }));
      mostWaiting = Math.max(mostWaiting, server.frontEnd.connections().outboxBytes);
      await new Promise(setImmediate);
    }
    expect(manual.cancelled).toBe(1);
    expect(mostWaiting).toBeLessThan(6 * MiB);
    client.send({ model_name: 'identity', id: 'after', inputs: [] });
    client.webSocket.resume();
    const all = await client.receiveAll();
    expect(all.length).toBeGreaterThan(4);
    expect(all.slice(0, -1).every(({ tail }) => tail.equals(bytes))).toBe(true);
    expect(all.at(-1)?.json).toMatchObject({ id: 'flood', code: 'RESOURCE_EXHAUSTED' });
    expect((await client.receive()).json).toMatchObject({ id: 'after', parameters: { triton_final_response: true } });
  });

  it('makes models wait that can while nobody reads, and lets each go on in its turn', async () => {
    const count = 5000;
    let made = 0;
    const memory = Buffer.alloc(2048);
    const patient: Infer = (request) =>
      produce({
        count,
        make: (index) => {
          made++;
          memory.writeUInt32LE(index);
          return answer(request, { outputs: new Map([['X', new Tensor('UINT8', [memory.length], memory)]]), isLast: false });
        },
        delayMs: () => 0,
        demand: request.demand,
        scheduler: machineScheduler,
      });
    server = await startWebSocket({ patient });
    const client = await open('/v2/models/patient/stream', 'weir.v2.binary');
    client.webSocket.pause();
    for (const id of ['a', 'b']) client.send({ id, inputs: [], parameters: { binary_data_output: true } });
    let before = -1;
    while (made > before || made === 0) {
      before = made;
      for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate);
    }
    expect(made).toBeLessThan(2 * count);
    expect(server.frontEnd.connections()).toMatchObject({ requestsInFlight: 2 });
    client.webSocket.resume();
    const seen: Record<string, number[]> = { a: [], b: [] };
    const order: string[] = [];
    while (order.length < 2 * count) {
      const { json, tail } = await client.receive();
      if (json.parameters.triton_final_response) continue;
      order.push(json.id);
      seen[json.id]?.push(tail.readUInt32LE(0));
    }
    const all = Array.from({ length: count }, (_, index) => index);
    expect(seen).toEqual({ a: all, b: all });
    expect(order.lastIndexOf('a')).toBeGreaterThan(count);
    expect(order.lastIndexOf('b')).toBeGreaterThan(count);
  });

  it('gives each request one final message, whenever it is cancelled', async () => {
    const answers: Infer = (request) => interval(1).pipe(map((n) => answer(request, { isLast: n === 2 })));
    server = await startWebSocket({ answers, identity });
    const client = await open('/v2/stream');
    const count = 500;
    for (let index = 0; index < count; index++) {
      client.send({ model_name: index % 2 === 0 ? 'answers' : 'identity', id: `${index}`, inputs: [] });
      client.send({ cancel: `${Math.max(0, index - (index % 7))}` });
    }
    const finals = new Map<string, number>();
    for (let seen = 0; seen < count; ) {
      const { json } = await client.receive();
      expect(finals.has(json.id)).toBe(false);
      if (json.parameters.triton_final_response !== true) continue;
      finals.set(json.id, 1);
      seen++;
    }
    expect(finals.size).toBe(count);
    expect(server.frontEnd.connections().requestsInFlight).toBe(0);
  });
});

describe('pings', () => {
  const pingIntervalMs = 20_000;
  let time: VirtualTime;
  beforeEach(() => {
    time = new VirtualTime();
  });

  /** One interval passes, and the client is pinged. */
  const ping = async ({ webSocket }: Client): Promise<void> => {
    const pinged = once(webSocket, 'ping');
    time.advance(pingIntervalMs);
    await pinged;
  };

  it('keep a client that answers them', async () => {
    server = await startWebSocket({ identity }, { pingIntervalMs, scheduler: time });
    const client = await open('/v2/models/identity/stream');
    for (let pings = 0; pings < 5; pings++) {
      const before = server.bytesRead;
      await ping(client);
      await until(() => server.bytesRead > before);
    }
    client.send({ id: 'a', inputs: [] });
    expect((await client.receive()).json.id).toBe('a');
  });

  it('end a client that does not', async () => {
    server = await startWebSocket({ identity }, { pingIntervalMs, scheduler: time });
    const client = await connectClient(`${server.origin}/v2/stream`, [], { autoPong: false });
    await ping(client);
    expect(server.frontEnd.connections().open).toBe(1);
    time.advance(pingIntervalMs);
    expect(await client.closed).toBe(1006);
    await allClosed();
    expect(server.frontEnd.connections().closes).toEqual(new Map([[1006, 1]]));
  });

  it('wait for a client whose pongs the server itself does not read', async () => {
    const manual = new ManualModel();
    server = await startWebSocket({ manual: manual.infer }, { pingIntervalMs, scheduler: time, maxInflight: 1 });
    const client = await open('/v2/models/manual/stream');
    client.send({ id: 'a', inputs: [] });
    await manual.started(1);
    for (let pings = 0; pings < 5; pings++) await ping(client);
    manual.finish(0);
    expect((await client.receive()).json.id).toBe('a');
  });

  it('find a client that went away while the server did not read', async () => {
    const manual = new ManualModel();
    server = await startWebSocket({ manual: manual.infer }, { pingIntervalMs, scheduler: time, maxInflight: 1 });
    const client = await open('/v2/models/manual/stream');
    client.send({ inputs: [] });
    await manual.started(1);
    client.webSocket.terminate();
    // The first ping after its end brings the news of it, the next one fails.
    await until(() => {
      time.advance(pingIntervalMs);
      return manual.cancelled > 0;
    });
    expect(manual.cancelled).toBe(1);
  });

  it('end with the front end, and leave no timer', async () => {
    server = await startWebSocket({ identity }, { pingIntervalMs, scheduler: time });
    expect(time.pending).toBe(1);
    await server.frontEnd.close(AbortSignal.abort());
    expect(time.pending).toBe(0);
  });
});

describe('closing', () => {
  it('answers what is in flight, refuses what is new, then closes with 1001', async () => {
    const manual = new ManualModel();
    server = await startWebSocket({ manual: manual.infer });
    const busy = await open('/v2/models/manual/stream');
    const idle = await open('/v2/models/manual/stream');
    busy.send({ id: 'a', inputs: [] });
    await manual.started(1);
    const closing = server.frontEnd.close(new AbortController().signal);
    expect(await idle.closed).toBe(1001);
    busy.send({ id: 'b', inputs: [] });
    expect((await busy.receive()).json).toMatchObject({ id: 'b', code: 'UNAVAILABLE', error: 'Server not ready' });
    expect((await refusal(`${server.origin}/v2/stream`)).status).toBe(503);
    manual.finish(0);
    expect((await busy.receive()).json).toMatchObject({ id: 'a', outputs: [] });
    expect(await busy.closed).toBe(1001);
    await closing;
    expect(server.frontEnd.connections().closes).toEqual(new Map([[1001, 2]]));
  });

  it('cuts what is left when the deadline comes', async () => {
    const manual = new ManualModel();
    server = await startWebSocket({ manual: manual.infer });
    const client = await open('/v2/models/manual/stream');
    client.send({ inputs: [] });
    await manual.started(1);
    const deadline = new AbortController();
    const closing = server.frontEnd.close(deadline.signal);
    deadline.abort();
    await closing;
    expect(await client.closed).toBe(1001);
    expect(manual.cancelled).toBe(1);
    expect(server.frontEnd.connections().open).toBe(0);
  });

  it('may be asked twice', async () => {
    server = await startWebSocket({ identity });
    const client = await open('/v2/models/identity/stream');
    await Promise.all([server.frontEnd.close(new AbortController().signal), server.frontEnd.close(new AbortController().signal)]);
    expect(await client.closed).toBe(1001);
  });

  it('does not wait for a client that never answers the close frame', async () => {
    server = await startWebSocket({ identity });
    const socket = connect(server.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.write(
      'GET /v2/stream HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
        'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n',
    );
    await once(socket, 'data');
    const deadline = new AbortController();
    const closing = server.frontEnd.close(deadline.signal);
    await once(socket, 'data');
    deadline.abort();
    await closing;
    expect(server.frontEnd.connections().closes).toEqual(new Map([[1001, 1]]));
    socket.destroy();
  });

  it('leaves no timer and no socket behind', async () => {
    server = await startWebSocket({ identity });
    const before = process.getActiveResourcesInfo().filter((name) => name === 'Timeout' || name === 'TCPSocketWrap').length;
    for (let round = 0; round < 50; round++) {
      const short = await startWebSocket({ identity });
      const client = await connectClient(`${short.origin}/v2/models/identity/stream`);
      client.send({ inputs: [] });
      await client.receive();
      await short.stop();
      await client.closed;
    }
    const after = process.getActiveResourcesInfo().filter((name) => name === 'Timeout' || name === 'TCPSocketWrap').length;
    expect(after).toBeLessThanOrEqual(before);
  });
});
