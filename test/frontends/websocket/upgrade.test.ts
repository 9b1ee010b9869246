import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';
import { connectClient, refusal } from './support/client.ts';
import { identity } from './support/models.ts';
import type { TestServer } from './support/start.ts';
import { startWebSocket } from './support/start.ts';

let server: TestServer;
afterEach(() => server.stop());

describe('upgrade', () => {
  it('speaks JSON with a client that offers nothing', async () => {
    server = await startWebSocket({ identity });
    const client = await connectClient(`${server.origin}/v2/stream`);
    expect(client.webSocket.protocol).toBe('');
    expect(client.webSocket.extensions).toBe('');
    client.send({ model_name: 'identity', id: 'a', inputs: [{ name: 'X', datatype: 'INT32', shape: [2], data: [7, 8] }] });
    expect((await client.receive()).isBinary).toBe(false);
  });

  it('takes the first subprotocol that it knows and never echoes a key', async () => {
    server = await startWebSocket({ identity });
    const client = await connectClient(`${server.origin}/v2/stream`, [
      'weir.key.x-api-key.c2VjcmV0',
      'other',
      'weir.v2.binary',
      'weir.v2.json',
    ]);
    expect(client.webSocket.protocol).toBe('weir.v2.binary');
  });

  it('refuses what it does not speak, with the reason', async () => {
    server = await startWebSocket({ identity });
    expect(await refusal(`${server.origin}/v2/stream`, ['weir.v2.arrow'])).toEqual({
      status: 400,
      body: '{"error":"subprotocol weir.v2.arrow is not built in this version, use weir.v2.json or weir.v2.binary"}',
    });
    expect((await refusal(`${server.origin}/v2/stream`, ['other'])).status).toBe(400);
    expect(server.frontEnd.connections().open).toBe(0);
  });

  it('refuses pages of other hosts', async () => {
    server = await startWebSocket({ identity }, { allowedOrigins: ['https://friend.example'] });
    const url = `${server.origin}/v2/stream`;
    expect(await refusal(url, [], { origin: 'https://evil.example' })).toEqual({
      status: 403,
      body: `{"error":"origin 'https://evil.example' is not allowed"}`,
    });
    for (const origin of ['https://friend.example', `http://127.0.0.1:${server.port}`]) {
      const client = await connectClient(url, [], { headers: { origin } });
      expect(await client.close()).toBe(1000);
    }
  });

  it('leaves other paths to the HTTP front end', async () => {
    server = await startWebSocket({ identity });
    for (const path of ['/v2/streams', '/v2/models/m/infer', '/v2/models/m/versions/x/stream']) {
      expect((await refusal(server.origin + path)).status).toBe(404);
    }
  });

  it('survives upgrades that are no handshake', async () => {
    server = await startWebSocket({ identity });
    for (const headers of [
      'Upgrade: other',
      'Upgrade: websocket',
      'Upgrade: websocket\r\nSec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13',
    ]) {
      const socket = connect(server.port, '127.0.0.1');
      socket.write(`GET /v2/stream HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\n${headers}\r\n\r\n`);
      expect(await text(socket)).toMatch(/^HTTP\/1.1 400 /);
    }
    expect(server.frontEnd.connections().open).toBe(0);
  });

  it('reads messages that came with the handshake', async () => {
    server = await startWebSocket({ identity });
    const socket = connect(server.port, '127.0.0.1');
    const message = Buffer.from('{"model_name":"identity","id":"early","inputs":[]}');
    socket.write(
      Buffer.concat([
        Buffer.from(
          'GET /v2/stream HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
            'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n',
        ),
        // A masked text frame whose mask is zero.
        Buffer.from([0x81, 0x80 | message.length, 0, 0, 0, 0]),
        message,
      ]),
    );
    let received = '';
    for await (const chunk of socket) {
      received += String(chunk);
      if (received.includes('triton_final_response')) break;
    }
    expect(received).toContain('"id":"early"');
  });

  it('closes a connection too many with 1013', async () => {
    server = await startWebSocket({ identity }, { maxConnections: 1 });
    const first = await connectClient(`${server.origin}/v2/stream`);
    const second = await connectClient(`${server.origin}/v2/stream`);
    expect(await second.closed).toBe(1013);
    expect(await first.close()).toBe(1000);
    const third = await connectClient(`${server.origin}/v2/stream`);
    expect(await third.close()).toBe(1000);
  });
});
