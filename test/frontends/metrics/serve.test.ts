import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { MetricsServerConfig } from '../../../src/frontends/metrics/serve.ts';
import { serveMetrics } from '../../../src/frontends/metrics/serve.ts';
import type { Listening } from '../../../src/streams/inference/front-end.ts';
import type { Log } from '../../../src/streams/inference/log.ts';

const errors: string[] = [];
const log: Log = { error: (message) => errors.push(message), warning: () => {}, info: () => {}, verbose: () => {} };

const open: Listening[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close(AbortSignal.abort())));
  errors.length = 0;
});

const start = async (changes: Partial<MetricsServerConfig> = {}): Promise<string> => {
  const server = await serveMetrics({
    address: '127.0.0.1',
    port: 0,
    render: async () => '# some metrics\n',
    contentType: 'text/plain; charset=utf-8',
    log,
    ...changes,
  });
  open.push(server);
  return `http://127.0.0.1:${server.port}`;
};

describe('metrics front end', () => {
  it.each(['/metrics', '/metrics/', '/metrics?name=x'])('answers GET %s', async (path) => {
    const response = await fetch((await start()) + path);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(await response.text()).toBe('# some metrics\n');
  });

  it.each(['POST', 'HEAD', 'PUT', 'DELETE'])('refuses %s', async (method) => {
    expect((await fetch(`${await start()}/metrics`, { method })).status).toBe(405);
  });

  it('answers other paths with 200 and nothing, as Triton does', async () => {
    const response = await fetch(`${await start()}/v2/health/live`);
    expect(response.status).toBe(200);
    expect(await response.text()).toBe('');
  });

  it('says 500 and goes on when rendering fails', async () => {
    let fails = true;
    const render = async () => {
      if (fails) throw new Error('no numbers');
      return 'ok 1\n';
    };
    const url = await start({ render });
    expect((await fetch(`${url}/metrics`)).status).toBe(500);
    expect(errors).toEqual(['failed to render metrics: no numbers']);
    fails = false;
    expect(await (await fetch(`${url}/metrics`)).text()).toBe('ok 1\n');
  });

  it('rejects when its port is taken', async () => {
    const port = Number(new URL(await start()).port);
    await expect(start({ port })).rejects.toMatchObject({
      name: 'InferError',
      code: 'UNAVAILABLE',
      message: `Socket '127.0.0.1:${port}' already in use `,
    });
  });

  it('closes idle connections at once, and busy ones when the deadline comes', async () => {
    const rendering = Promise.withResolvers<void>();
    const render = (): Promise<string> => {
      rendering.resolve();
      return new Promise(() => {});
    };
    const server = await serveMetrics({ address: '127.0.0.1', port: 0, render, contentType: 'text/plain', log });
    const socket = connect(server.port, '127.0.0.1');
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.on('error', () => {});
    socket.write('GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n');
    await rendering.promise;
    const deadline = new AbortController();
    const closing = server.close(deadline.signal);
    deadline.abort();
    await closing;
    await closed;
  });
});
