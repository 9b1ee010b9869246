import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, type RequestOptions, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { requestHead } from '../../load/messages/json-messages.ts';
import { inputBytes } from '../../load/messages/tensors.ts';
import { largeBytes, questions } from '../target.ts';
import { expectSame, someMs, type Visitor } from '../visitor.ts';

const inferPath = (model: string): string => `/v2/models/${model}/infer`;

/** A request over a connection of its own. */
const begin = (port: number, path: string, options: RequestOptions = {}): ClientRequest =>
  request({ host: '127.0.0.1', port, path, method: 'POST', agent: false, ...options });

const ask = async (port: number, path: string, body: string | Buffer, headers: Record<string, string | number> = {}) => {
  const asked = begin(port, path, { headers });
  asked.end(body);
  const [answer]: IncomingMessage[] = await once(asked, 'response');
  if (answer === undefined) throw new Error('no answer');
  return { status: answer.statusCode, body: await text(answer) };
};

const smallJson = JSON.stringify({
  inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [1, 16], data: Array.from({ length: 16 }, (_, index) => index) }],
});

const good: Visitor = {
  name: 'an HTTP connection that comes and goes',
  visit: async ({ httpPort }) => {
    const { status, body } = await ask(httpPort, inferPath('small'), smallJson);
    expectSame('status', 200, status);
    expectSame('last value', 15, JSON.parse(body).outputs[0].data[15]);
  },
};

const information: Visitor = {
  name: 'HTTP: health, metadata, statistics',
  visit: async ({ httpPort }) => {
    for (const path of ['/v2/health/ready', '/v2/models/vad', '/v2/models/vad/config', '/v2/models/stats']) {
      const asked = begin(httpPort, path, { method: 'GET' });
      asked.end();
      const [answer]: IncomingMessage[] = await once(asked, 'response');
      expectSame(path, 200, answer?.statusCode);
      answer?.resume();
      if (answer !== undefined) await once(answer, 'end');
    }
  },
};

const bad = (name: string, wanted: number, path: string, body: string | Buffer, headers?: Record<string, string | number>): Visitor => ({
  name: `HTTP: ${name}`,
  visit: async ({ httpPort }) => {
    const { status, body: text } = await ask(httpPort, path, body, headers);
    expectSame('status', wanted, status);
    expectSame('an error', 'string', typeof JSON.parse(text).error);
  },
});

/** Goes away while the server does something for it. */
const leaving = (name: string, path: string, send: (asked: ClientRequest) => void, options?: RequestOptions): Visitor => ({
  name,
  visit: async ({ httpPort }) => {
    const asked = begin(httpPort, path, options);
    // Destroying it is an error too, and so is what the server does about it.
    asked.on('error', () => {});
    asked.on('response', (answer) => answer.on('error', () => {}).resume());
    const closed = new Promise((resolve) => asked.once('close', resolve));
    send(asked);
    await sleep(someMs());
    asked.destroy();
    await closed;
  },
});

const largeHead = requestHead(questions.large, 'visitor', inputBytes(questions.large));
const largeHeaders = { 'Inference-Header-Content-Length': largeHead.length, 'Content-Length': largeHead.length + largeBytes };
const half = Buffer.alloc(largeBytes / 2);

export const httpVisitors: readonly Visitor[] = [
  good,
  information,
  bad('no JSON', 500, inferPath('small'), '{"inputs": ['),
  bad('an unknown model', 404, inferPath('nobody'), smallJson),
  bad('fewer bytes than announced', 400, inferPath('large'), Buffer.concat([largeHead, half]), {
    'Inference-Header-Content-Length': largeHead.length,
  }),
  leaving('an HTTP client that leaves while it waits', inferPath('slow'), (asked) => asked.end(smallJson)),
  leaving(
    'an HTTP client that leaves while it sends 8 MiB',
    inferPath('large'),
    (asked) => {
      asked.write(largeHead);
      asked.write(half);
    },
    { headers: largeHeaders },
  ),
];
