import { expect, it } from 'vitest';
import { serveHttp } from '../../../src/frontends/http/serve.ts';
import { serveWebSocket } from '../../../src/frontends/websocket/serve.ts';
import { makeLog } from '../../support/model.ts';
import { connectClient, refusal } from './support/client.ts';
import { identity } from './support/models.ts';
import { scriptedDataPlane } from './support/scripted-data-plane.ts';

const log = makeLog();

it('shares the port of the HTTP front end', async () => {
  const dataPlane = scriptedDataPlane({ identity });
  const webSocket = serveWebSocket(dataPlane, { log });
  const { onUpgrade } = webSocket;
  const http = await serveHttp(dataPlane, {
    address: '127.0.0.1',
    port: 0,
    reusePort: false,
    maxInputSize: 1 << 20,
    headerForwardPattern: '',
    log,
    onUpgrade,
  });
  const origin = `ws://127.0.0.1:${http.port}`;
  try {
    const client = await connectClient(`${origin}/v2/models/identity/stream`);
    client.send({ id: 'a', inputs: [{ name: 'X', datatype: 'BOOL', shape: [1], data: [true] }] });
    expect((await client.receive()).json).toMatchObject({ id: 'a', outputs: [{ name: 'X', data: [true] }] });
    expect((await refusal(`${origin}/v2/models/identity/infer`)).status).toBe(404);
    expect((await fetch(`http://127.0.0.1:${http.port}/v2/health/live`)).status).toBe(200);
    const closed = Promise.all([webSocket.close(new AbortController().signal), http.close(new AbortController().signal)]);
    expect(await client.closed).toBe(1001);
    await closed;
  } finally {
    await Promise.all([webSocket.close(AbortSignal.abort()), http.close(AbortSignal.abort())]);
  }
});
