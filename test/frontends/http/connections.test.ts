import { once } from 'node:events';
import { Agent } from 'node:http';
import type { Duplex } from 'node:stream';
import { Observable } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { mostPipelined } from '../../../src/frontends/http/connections.ts';
import { serveHttp } from '../../../src/frontends/http/serve.ts';
import type { Infer } from '../../../src/streams/inference/infer.ts';
import { Tensor } from '../../../src/streams/tensors/tensor.ts';
import { HeldModel } from '../../support/held-model.ts';
import { makeSpec } from '../../support/model.ts';
import { withModels } from '../../support/overlay.ts';
import { inferResponse } from '../../support/request-fixtures.ts';
import { until } from '../../support/until.ts';
import { call, inferJson, jsonInput, open, readAll, readUntil } from './support/client.ts';
import { identityDataPlane } from './support/repository.ts';
import { httpConfig, serve } from './support/serving.ts';

const setUp = async () => {
  const model = new HeldModel();
  const server = await serve(withModels(await identityDataPlane(), [model.served]));
  return { model, server, port: server.port };
};

const body = '{"inputs":[]}';
const bare = (model: string, text = body): string =>
  `POST /v2/models/${model}/infer HTTP/1.1\r\nHost: x\r\nContent-Length: ${text.length}\r\n\r\n${text}`;
const held = inferJson('held', []);
const never = new AbortController().signal;

describe('a connection', () => {
  it('serves one request after another, errors included', async () => {
    const { server, port } = await setUp();
    let connections = 0;
    server.server.on('connection', () => connections++);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const good = { ...inferJson('identity_int32', [jsonInput('INPUT0', 'INT32', [1])]), agent };
    for (const bad of [
      inferJson('nobody', []),
      { path: '/v2/models/two/infer', body: '{' },
      { path: '/v2/nothing' },
      { path: '/v2', method: 'PUT' },
    ]) {
      expect((await call(port, { ...bad, agent })).status).toBeGreaterThanOrEqual(400);
      expect((await call(port, good)).status).toBe(200);
    }
    expect(connections).toBe(1);
    agent.destroy();
  });

  it('answers what is sent ahead in its order, one at a time', async () => {
    const { model, port } = await setUp();
    const socket = await open(port);
    socket.write(bare('held', '{"id":"a","inputs":[]}') + bare('held', '{"id":"b","inputs":[]}') + bare('identity_int32', body));
    await model.holds(1);
    const first = readUntil(socket, /"id":"a"/);
    model.answer();
    await first;
    await model.holds(1);
    const rest = readUntil(socket, /"id":"b".*\{"error"/s);
    model.answer();
    await rest;
    socket.destroy();
  });

  it('is cut off when too much is sent ahead', async () => {
    const { model, port } = await setUp();
    const socket = await open(port);
    const ended = once(socket, 'close');
    socket.write(bare('held'));
    await model.holds(1);
    socket.write('GET /v2 HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(mostPipelined + 1));
    await ended;
    await model.holds(0);
    expect(model.cancelled).toBe(1);
  });

  it('holds one answer of a client that reads none', async () => {
    const size = 8 * 1024 * 1024;
    let asked = 0;
    const large: Infer = () =>
      new Observable((subscriber) => {
        asked++;
        subscriber.next(inferResponse({ OUT: new Tensor('UINT8', [size], Buffer.alloc(size)) }));
        subscriber.complete();
      });
    const base = withModels(await identityDataPlane(), [{ spec: makeSpec({ name: 'large' }), infer: large }]);
    const { port } = await serve(base);
    const socket = await open(port);
    socket.pause();
    socket.write(bare('large', '{"inputs":[],"parameters":{"binary_data_output":true}}').repeat(64));
    await until(() => asked > 0);
    // Other clients are served meanwhile: so the server has had its turns.
    for (let turn = 0; turn < 20; turn++) expect((await call(port, { path: '/v2/health/live' })).status).toBe(200);
    expect(asked).toBeLessThanOrEqual(2);
    let read = 0;
    socket.on('data', (piece: Buffer) => {
      read += piece.length;
    });
    socket.resume();
    await until(() => read > 64 * size);
    expect(asked).toBe(64);
    socket.destroy();
  });
});

describe('a client that goes away', () => {
  it('cancels its request, and the ones behind', async () => {
    const { model, port } = await setUp();
    const socket = await open(port);
    socket.write(bare('held') + bare('held'));
    await model.holds(1);
    socket.destroy();
    await model.holds(0);
    expect(model.cancelled).toBe(1);
    const other = call(port, held);
    await model.holds(1);
    model.answer();
    expect((await other).status).toBe(200);
  });

  it('frees the place of a queued request, and of a running one', async () => {
    const dataPlane = await identityDataPlane('slow');
    const { port } = await serve(dataPlane);
    const stages = () => dataPlane.graphs().find((graph) => graph.model === 'slow')?.stages ?? [];
    const inside = (): number => stages().reduce((sum, { queued, running }) => sum + queued + running, 0);
    const sockets = await Promise.all([open(port), open(port), open(port)]);
    for (const socket of sockets) socket.write(bare('slow', String(inferJson('slow', [jsonInput('INPUT0', 'INT32', [1])]).body)));
    await until(() => inside() === 3);
    for (const socket of sockets) socket.destroy();
    await until(() => inside() === 0);
  });

  it('may do so at any moment', async () => {
    const { model, port } = await setUp();
    const text = bare('identity_int32', String(inferJson('identity_int32', [jsonInput('INPUT0', 'INT32', [1])]).body));
    for (let cut = 1; cut <= text.length; cut += 7) {
      const socket = await open(port);
      socket.end(text.slice(0, cut));
      socket.destroy();
    }
    const last = call(port, held);
    await model.holds(1);
    model.answer();
    expect((await last).status).toBe(200);
  });
});

describe('closing', () => {
  it('lets what is in flight end, and ends idle connections at once', async () => {
    const { model, server, port } = await setUp();
    const fresh = await open(port);
    const idle = await open(port);
    idle.write('GET /v2/health/live HTTP/1.1\r\nHost: x\r\n\r\n');
    await readUntil(idle, /200 OK/);
    const busy = await open(port);
    busy.write(bare('held'));
    await model.holds(1);
    const ended = Promise.all([once(fresh, 'close'), once(idle, 'close')]);
    const closed = server.close(never);
    fresh.resume();
    idle.resume();
    await ended;
    await expect(open(port)).rejects.toThrow('ECONNREFUSED');
    const answer = readAll(busy);
    model.answer();
    expect(await answer).toMatch(/^HTTP\/1.1 200 OK\r\n.*Connection: close/s);
    await closed;
  });

  it('ends everything at its deadline', async () => {
    const { model, server, port } = await setUp();
    const deadline = new AbortController();
    const busy = await open(port);
    busy.write(bare('held'));
    await model.holds(1);
    const closed = server.close(deadline.signal);
    deadline.abort();
    await closed;
    await model.holds(0);
    expect(model.cancelled).toBe(1);
  });

  it('leaves no handle behind', async () => {
    const dataPlane = await identityDataPlane();
    const before = process.getActiveResourcesInfo().length;
    for (let turn = 0; turn < 10; turn++) {
      const server = await serveHttp(dataPlane, httpConfig());
      await call(server.port, { path: '/v2/health/live' });
      await server.close(never);
    }
    await until(() => process.getActiveResourcesInfo().length <= before);
  });
});

describe('listening', () => {
  it('is refused where somebody listens already', async () => {
    const { server, port } = await setUp();
    expect(server.address).toBe('127.0.0.1');
    await expect(serveHttp(await identityDataPlane(), httpConfig({ port }))).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: `Socket '127.0.0.1:${port}' already in use `,
    });
  });

  it('may share a port when told to', async () => {
    const dataPlane = await identityDataPlane();
    const { port } = await serve(dataPlane, { reusePort: true });
    await serve(dataPlane, { reusePort: true, port });
    expect((await call(port, { path: '/v2/health/live' })).status).toBe(200);
  });

  it('is refused with a pattern that is none', async () => {
    await expect(serveHttp(await identityDataPlane(), httpConfig({ headerForwardPattern: '(' }))).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  });
});

describe('an upgrade', () => {
  const upgrade = (protocol: string): string =>
    `GET /v2 HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: ${protocol}\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n`;

  it('to HTTP/2 is left alone', async () => {
    const { port } = await serve(await identityDataPlane(), { onUpgrade: () => true });
    const socket = await open(port);
    socket.write(upgrade('h2c'));
    expect(await readUntil(socket, /"extensions"/)).toMatch(/^HTTP\/1.1 200 /);
    socket.destroy();
  });

  it('to WebSocket goes to whom it concerns', async () => {
    const { port } = await serve(await identityDataPlane(), {
      onUpgrade: (request, socket) => {
        socket.end(`taken ${request.url}`);
        return true;
      },
    });
    const socket = await open(port);
    socket.write(upgrade('websocket'));
    expect(await readAll(socket)).toBe('taken /v2');
  });

  it('is not ended by closing, but by whoever has the connection', async () => {
    let taken: Duplex | undefined;
    const server = await serve(await identityDataPlane(), {
      onUpgrade: (_request, socket) => {
        taken = socket;
        socket.write('taken');
        return true;
      },
    });
    const socket = await open(server.port);
    socket.write(upgrade('websocket'));
    await readUntil(socket, /taken/);
    const closed = server.close(never);
    const rest = readAll(socket);
    taken?.end('bye');
    expect(await rest).toBe('bye');
    await closed;
  });

  it('is refused by one whom it does not concern, and ignored without', async () => {
    const refusing = await serve(await identityDataPlane(), { onUpgrade: () => false });
    const socket = await open(refusing.port);
    socket.write(upgrade('websocket'));
    expect(await readAll(socket)).toMatch(/^HTTP\/1.1 404 Not Found\r\n.*\{"error":"Not Found"\}$/s);
    const plain = await open((await serve(await identityDataPlane())).port);
    plain.write(upgrade('websocket'));
    expect(await readUntil(plain, /"extensions"/)).toMatch(/^HTTP\/1.1 200 /);
    plain.destroy();
  });
});
