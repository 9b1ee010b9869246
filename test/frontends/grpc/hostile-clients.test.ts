import { once } from 'node:events';
import http2, { type ClientHttp2Session } from 'node:http2';
import { connect } from 'node:net';
import { Duplex } from 'node:stream';
import { NEVER } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { until } from '../../support/until.ts';
import { encode, messageType } from './support/client.ts';
import { ErrorLog, echoing, TestDataPlane, variableSpec } from './support/data-plane.ts';
import { nothingIsLeft } from './support/nothing-left.ts';
import { framed, RawClient } from './support/raw-client.ts';
import { type Serving, serve } from './support/serving.ts';

const unaryPath = '/inference.GRPCInferenceService/ModelInfer';
const streamPath = '/inference.GRPCInferenceService/ModelStreamInfer';
const livePath = '/inference.GRPCInferenceService/ServerLive';

const requestTo = (model: string): Buffer =>
  encode(messageType('inference.ModelInferRequest'), {
    model_name: model,
    inputs: [{ name: 'IN', datatype: 'UINT8', shape: [100] }],
    raw_input_contents: [Buffer.alloc(100)],
  });

let dataPlane: TestDataPlane;
let serving: Serving;
let client: RawClient;

beforeEach(async () => {
  dataPlane = new TestDataPlane().add(variableSpec('echo'), echoing).add(variableSpec('never'), () => NEVER);
  serving = await serve(dataPlane);
  client = new RawClient(serving.server.port);
});
afterEach(async () => {
  client.cut();
  await serving.stop();
});

/** Asks on the very connection that had to suffer. */
const isLive = async (): Promise<boolean> => {
  const call = client.call(livePath);
  call.send(Buffer.alloc(0));
  call.halfClose();
  return (await call.closed).code === '0';
};

/** What Node's client would send to a server that never says a word. */
const recorded = async (begin: (session: ClientHttp2Session) => readonly Promise<unknown>[]): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  const wire = new Duplex({
    read() {},
    write(chunk, _encoding, done) {
      chunks.push(chunk);
      done();
    },
  });
  const session = http2.connect('http://localhost', { createConnection: () => wire });
  session.on('error', () => {});
  await Promise.all(begin(session));
  session.destroy();
  return Buffer.concat(chunks);
};

const headersOf = (path: string, type = 'application/grpc') => ({ ':method': 'POST', ':path': path, 'content-type': type, te: 'trailers' });

/** Sends bytes and cuts the connection once they have left. */
const sendAndCut = async (bytes: Buffer, how: 'end' | 'reset'): Promise<void> => {
  const socket = connect(serving.server.port, '127.0.0.1');
  socket.on('error', () => {});
  await once(socket, 'connect');
  await new Promise((resolve) => socket.write(bytes, resolve));
  if (how === 'end') socket.destroy();
  else socket.resetAndDestroy();
};

describe('calls that are cancelled', () => {
  it('by the thousand leave the others of their connection alone', async () => {
    const patient = client.call(unaryPath);
    patient.send(requestTo('never'));
    patient.halfClose();
    await until(() => dataPlane.running === 1);
    for (let round = 0; round < 30; round++) {
      const calls = Array.from({ length: 100 }, (_, index) => {
        const call = client.call(index % 2 === 0 ? unaryPath : streamPath);
        call.send(requestTo('never'));
        return call;
      });
      for (const call of calls) call.cancel();
      await Promise.all(calls.map(({ closed }) => closed));
    }
    expect(await isLive()).toBe(true);
    await until(() => dataPlane.running === 1 && serving.server.counters().calls === 1);
    patient.cancel();
    await nothingIsLeft(dataPlane, serving);
  });

  it.each([http2.constants.NGHTTP2_NO_ERROR, http2.constants.NGHTTP2_CANCEL])(
    'with their first bytes, whatever they ask, are forgotten: %i',
    async (code) => {
      const paths = [livePath, unaryPath, streamPath, '/nobody/Knows'];
      const bytes = await recorded((session) =>
        ['application/grpc', 'text/html'].flatMap((type) =>
          paths.map((path) => {
            const stream = session.request(headersOf(path, type));
            stream.on('error', () => {});
            stream.close(code);
            return once(stream, 'close');
          }),
        ),
      );
      await sendAndCut(bytes, 'end');
      expect(await isLive()).toBe(true);
      await nothingIsLeft(dataPlane, serving);
    },
  );
});

it('forgets what a connection asked that is cut, at whatever byte', async () => {
  const bytes = await recorded((session) =>
    [unaryPath, streamPath, livePath].map((path) => {
      const stream = session.request(headersOf(path));
      stream.on('error', () => {});
      if (path !== livePath) stream.write(framed(requestTo('never')));
      stream.end(framed(path === livePath ? Buffer.alloc(0) : requestTo('echo')));
      return once(stream, 'finish');
    }),
  );
  expect(bytes.length).toBeGreaterThan(500);
  for (let length = 0; length <= bytes.length; length += 7) await sendAndCut(bytes.subarray(0, length), length % 2 === 0 ? 'end' : 'reset');
  expect(await isLive()).toBe(true);
  await nothingIsLeft(dataPlane, serving);
});

it('takes no memory on the word of a prefix alone', async () => {
  const largest = Buffer.of(0, 0x7f, 0xff, 0xff, 0xff, 1);
  const before = process.memoryUsage().arrayBuffers;
  const calls = Array.from({ length: 500 }, (_, index) => client.call(index % 2 === 0 ? unaryPath : streamPath));
  await Promise.all(calls.map((call) => call.sendBytes(largest)));
  expect(await isLive()).toBe(true);
  expect(serving.server.counters().calls).toBe(calls.length);
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(256 * 2 ** 20);
  for (const call of calls) call.cancel();
  await nothingIsLeft(dataPlane, serving);
});

it('writes nothing to the log of messages that are none', async () => {
  const log = new ErrorLog();
  const logging = await serve(dataPlane, { log });
  const caller = new RawClient(logging.server.port);
  for (const path of [livePath, unaryPath, streamPath]) {
    const call = caller.call(path);
    call.send(Buffer.from([7, 7, 7]));
    call.halfClose();
    expect(await call.closed).toMatchObject({ code: '13', message: expect.stringContaining('failed%20to%20parse') });
  }
  expect(log.lines).toEqual([]);
  caller.cut();
  await logging.stop();
});

describe('headers', () => {
  const withHeaders = async (count: number, bytes: number) => {
    const headers = Object.fromEntries(Array.from({ length: count }, (_, index) => [`key-${index}`, 'v'.repeat(bytes)]));
    const call = client.call(unaryPath, headers);
    call.send(requestTo('echo'));
    call.halfClose();
    return call.closed;
  };

  const endedAlone = { code: undefined, resetCode: http2.constants.NGHTTP2_ENHANCE_YOUR_CALM };

  it('may be many that are short', async () => {
    expect(await withHeaders(240, 1)).toMatchObject({ code: '0' });
  });

  it('that are too many end their call alone', async () => {
    expect(await withHeaders(300, 1)).toMatchObject(endedAlone);
    expect(await isLive()).toBe(true);
    await nothingIsLeft(dataPlane, serving);
  });

  it('that are too long end their call alone, once a client knows', async () => {
    expect(await isLive()).toBe(true);
    expect(client.session.remoteSettings.maxHeaderListSize).toBe(65_536);
    expect(await withHeaders(12, 8000)).toMatchObject(endedAlone);
    expect(await isLive()).toBe(true);
    await nothingIsLeft(dataPlane, serving);
  });
});
