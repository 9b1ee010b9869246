import { once } from 'node:events';
import { Agent } from 'node:http';
import { deflateSync, gunzipSync, gzipSync, inflateSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { HttpConfig } from '../../../src/frontends/http/serve.ts';
import { call, failure, inferBinary, inferJson, jsonInput, open, readAll, readUntil, splitAnswer } from './support/client.ts';
import { identityDataPlane } from './support/repository.ts';
import { serve } from './support/serving.ts';

const start = async (fields: Partial<HttpConfig> = {}): Promise<number> =>
  (await serve(await identityDataPlane('identity_int32', 'identity_uint8'), fields)).port;

const path = '/v2/models/identity_int32/infer';
const question = inferJson('identity_int32', [jsonInput('INPUT0', 'INT32', [5])]);
const questionText = String(question.body);
const binary = inferBinary('identity_int32', [{ name: 'INPUT0', datatype: 'INT32', shape: [1], bytes: Uint8Array.of(5, 0, 0, 0) }]);
const binaryBody = Buffer.from(binary.body as Uint8Array);
const headLength = binaryBody.length - 4;

describe('the header length', () => {
  it.each([
    ['abc', '400 Unable to parse Inference-Header-Content-Length, got: abc'],
    ['-1', `400 inference header size should be in range (0, ${binaryBody.length}), got: -1`],
    ['99999', `400 inference header size should be in range (0, ${binaryBody.length}), got: 99999`],
    [
      '3000000000',
      '400 Unable to parse Inference-Header-Content-Length, value is out of range [ -2147483648, 2147483647 ], got: 3000000000',
    ],
    [
      String(headLength - 1),
      `500 failed to parse the request JSON buffer: Missing a comma or } after an object member. at ${headLength - 1}`,
    ],
    ['0', '400 [request id: <id_unknown>] input byte size mismatch'],
  ])('%s', async (length, message) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const port = await start();
    const headers = { 'Inference-Header-Content-Length': length };
    expect(await failure(port, { path, headers, body: binaryBody, agent })).toContain(message);
    expect((await call(port, { ...binary, agent })).status).toBe(200);
    agent.destroy();
  });

  it('is needed for tensors behind the JSON', async () => {
    expect(await failure(await start(), { path, body: binaryBody })).toContain('500 failed to parse the request JSON buffer: ');
  });

  it('must agree with the sizes of the tensors', async () => {
    const port = await start();
    const headers = binary.headers ?? {};
    expect(await failure(port, { path, headers, body: binaryBody.subarray(0, -1) })).toBe(
      "400 unexpected size for input 'INPUT0', expecting 1 additional bytes for model 'identity_int32'",
    );
    expect(await failure(port, { path, headers, body: Buffer.concat([binaryBody, Buffer.of(1)]) })).toBe(
      "400 unexpected additional input data for model 'identity_int32'",
    );
  });
});

describe('size limits', () => {
  const size = questionText.length;

  it('takes JSON of exactly the limit, whatever the path', async () => {
    const limit = { maxInputSize: size };
    const port = await start(limit);
    expect((await call(port, question)).status).toBe(200);
    const message = `request JSON size of ${size + 1} bytes exceeds the maximum allowed input size of ${size} bytes. Use --http-max-input-size to increase the limit.`;
    expect(await failure(port, { path, body: `${questionText} ` })).toBe(`400 ${message}`);
    expect(await failure(port, { path: '/v2/repository/index', body: ' '.repeat(size + 1) })).toBe(`400 ${message}`);
    expect(await failure(port, { path, body: [Buffer.from(questionText), Buffer.from(' ')] })).toBe(`400 ${message}`);
  });

  it('takes a raw tensor of exactly the limit', async () => {
    const port = await start({ maxInputSize: 1000 });
    const raw = (bytes: number) => ({
      path: '/v2/models/identity_uint8/infer',
      headers: { 'Inference-Header-Content-Length': '0' },
      body: Buffer.alloc(bytes),
    });
    expect((await call(port, raw(1000))).status).toBe(200);
    expect(await failure(port, raw(1001))).toBe(
      '400 Raw input has a byte_size (1001 bytes) that exceeds the maximum allowed value of 1000 bytes. Use --http-max-input-size to increase the limit.',
    );
  });

  it('limits the JSON part of a body with tensors, not the tensors', async () => {
    const bytes = Buffer.alloc(5000, 1);
    const large = inferBinary('identity_uint8', [{ name: 'INPUT0', datatype: 'UINT8', shape: [5000], bytes }]);
    const jsonSize = Number(large.headers?.['Inference-Header-Content-Length']);
    expect(splitAnswer(await call(await start({ maxInputSize: jsonSize }), large)).tail).toEqual(bytes);
    expect(await failure(await start({ maxInputSize: jsonSize - 1 }), large)).toContain(
      `400 request JSON size of ${jsonSize} bytes exceeds`,
    );
  });

  it('refuses an announced length before anything comes, without a negative number', async () => {
    const port = await start();
    for (const headers of ['', 'Inference-Header-Content-Length: 10\r\n', 'Content-Encoding: gzip\r\n']) {
      const socket = await open(port);
      socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\n${headers}Content-Length: 3221225472\r\n\r\n`);
      const text = await readUntil(socket, /\{"error":.*\}/);
      expect(text).toMatch(/^HTTP\/1.1 400 /);
      expect(text).not.toMatch(/-\d/);
      socket.destroy();
    }
  });

  it('is readable for a client that is still sending, and the connection goes on', async () => {
    const port = await start({ maxInputSize: 1000 });
    const socket = await open(port);
    socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 4000000\r\n\r\n`);
    expect(await readUntil(socket, /\{"error":.*\}/)).toContain('exceeds the maximum allowed input size of 1000 bytes');
    socket.write(Buffer.alloc(4_000_000, 32));
    socket.write(`GET /v2/health/live HTTP/1.1\r\nHost: x\r\n\r\n`);
    expect(await readUntil(socket, /\r\n\r\n/)).toMatch(/^HTTP\/1.1 200 /);
    socket.destroy();
  });

  it.each(['/v2/models/nobody/infer', '/v2/nothing', '/v2/logging'])('is the same for a refusal at %s', async (at) => {
    const socket = await open(await start());
    socket.write(`POST ${at} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n`);
    expect(await readUntil(socket, /\{"error":.*\}/)).toMatch(/^HTTP\/1.1 (404|501) /);
    socket.write(Buffer.alloc(1_000_000));
    socket.write(`GET /v2/health/live HTTP/1.1\r\nHost: x\r\n\r\n`);
    expect(await readUntil(socket, /\r\n\r\n/)).toMatch(/^HTTP\/1.1 200 /);
    socket.destroy();
  });
});

describe('chunked bodies', () => {
  it('are read, in few chunks and in many', async () => {
    const port = await start();
    expect((await call(port, { path, body: [Buffer.from(questionText)] })).text).toContain('"data":[5]');
    expect((await call(port, { path, body: [...questionText].map((letter) => Buffer.from(letter)) })).text).toContain('"data":[5]');
  });

  it('may grow', async () => {
    const bytes = Buffer.alloc(700_000, 3);
    const { body, ...rest } = inferBinary('identity_uint8', [{ name: 'INPUT0', datatype: 'UINT8', shape: [bytes.length], bytes }]);
    const pieces: Uint8Array[] = [];
    for (let at = 0; at < (body as Buffer).length; at += 10_000) pieces.push((body as Buffer).subarray(at, at + 10_000));
    expect(splitAnswer(await call(await start(), { ...rest, body: pieces })).tail).toEqual(bytes);
  });

  it('of more than 65536 chunks are refused, and the connection is closed', async () => {
    const socket = await open(await start());
    socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`);
    socket.write('1\r\n \r\n'.repeat(100_000));
    socket.write('0\r\n\r\n');
    expect(await readAll(socket)).toContain(
      '{"error":"Chunked request body exceeds maximum of 65536 non-empty chunks. Send fewer or larger HTTP chunks."}',
    );
  });
});

describe('compressed bodies', () => {
  it.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
  ] as const)('are read: %s, with tensors and without', async (coding, compress) => {
    const port = await start();
    const headers = { 'Content-Encoding': coding };
    expect((await call(port, { path, headers, body: compress(questionText) })).text).toContain('"data":[5]');
    const reply = await call(port, { path, headers: { ...binary.headers, ...headers }, body: compress(binaryBody) });
    expect([...splitAnswer(reply).tail]).toEqual([5, 0, 0, 0]);
  });

  it('must be what they say', async () => {
    const port = await start();
    const headers = { 'Content-Encoding': 'gzip' };
    expect(await failure(port, { path, headers, body: questionText })).toContain('400 ');
    expect(await failure(port, { path, headers, body: gzipSync(questionText).subarray(0, -9) })).toContain('400 ');
  });

  it('are limited by what they decompress to', async () => {
    const limit = questionText.length;
    const headers = { 'Content-Encoding': 'gzip' };
    const port = await start({ maxInputSize: limit });
    expect((await call(port, { path, headers, body: gzipSync(questionText) })).status).toBe(200);
    expect(await failure(port, { path, headers, body: gzipSync(`${questionText}${' '.repeat(100_000)}`) })).toBe(
      `400 Decompressed data size exceeds the maximum allowed value of ${limit} bytes. Use --http-max-input-size to increase the limit.`,
    );
  });

  it('of another kind are refused with what is taken', async () => {
    const reply = await call(await start(), { path, headers: { 'Content-Encoding': 'br' }, body: questionText });
    expect(reply).toMatchObject({ status: 501, text: '{"error":"Unsupported compression type"}' });
    expect(reply.headers['accept-encoding']).toBe('gzip, deflate');
  });

  it.each([
    ['gzip', gunzipSync],
    ['deflate', inflateSync],
  ] as const)('are answered on request: %s', async (coding, decompress) => {
    const port = await start();
    const reply = await call(port, { ...binary, headers: { ...binary.headers, 'Accept-Encoding': coding } });
    expect(reply.headers['content-encoding']).toBe(coding);
    const { tail } = splitAnswer({ ...reply, body: decompress(reply.body) });
    expect([...tail]).toEqual([5, 0, 0, 0]);
    const bad = await call(port, { ...inferJson('nobody', []), headers: { 'Accept-Encoding': coding } });
    expect(bad.headers['content-encoding']).toBeUndefined();
    expect(bad.status).toBe(404);
  });
});

describe('the content type of a request', () => {
  it.each(['application/json', 'text/plain', 'no type at all', 'application/x-www-form-urlencoded'])(
    'does not matter: %s',
    async (type) => {
      expect((await call(await start(), { ...question, headers: { 'Content-Type': type } })).status).toBe(200);
    },
  );
});

describe('bytes that are no request', () => {
  it.each([
    ['garbage', 'garbage\r\n\r\n', '400', 'Bad Request'],
    [
      'a length that is no number',
      `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n`,
      '400',
      'Unable to parse Content-Length',
    ],
    ['a negative length', `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n`, '400', 'Unable to parse Content-Length'],
    ['too long headers', `GET /v2 HTTP/1.1\r\nHost: x\r\nA: ${'a'.repeat(100_000)}\r\n\r\n`, '431', 'Request Header Fields Too Large'],
  ])('are refused in JSON: %s', async (_name, bytes, status, message) => {
    const port = await start();
    const socket = await open(port);
    socket.write(bytes);
    const text = await readAll(socket);
    expect(text).toContain(`HTTP/1.1 ${status} `);
    expect(text).toContain(`{"error":"${message}"}`);
    expect((await call(port, question)).status).toBe(200);
  });

  it('may end in the middle of a body', async () => {
    const port = await start();
    const socket = await open(port);
    socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{`);
    socket.destroy();
    await once(socket, 'close');
    expect((await call(port, question)).status).toBe(200);
  });
});

describe('forwarded headers', () => {
  const names = async (pattern: string, headers: Readonly<Record<string, string>>): Promise<unknown> => {
    const seen: unknown[] = [];
    const base = await identityDataPlane();
    const model: typeof base.model = (name, version) => {
      const { spec, infer } = base.model(name, version);
      return {
        spec,
        infer: (request) => {
          seen.push([...request.parameters]);
          return infer(request);
        },
      };
    };
    const { port } = await serve({ ...base, model }, { headerForwardPattern: pattern });
    const body = inferJson('identity_int32', [jsonInput('INPUT0', 'INT32', [5])], { parameters: { own: 1 } });
    const { status, text } = await call(port, { ...body, headers });
    return status === 200 ? seen[0] : text;
  };

  it('become string parameters, under the names with which they came', async () => {
    expect(await names('MY_HEADER', { My_Header_X: '1', other: '2', 'x-my_header': 'three' })).toEqual([
      ['own', 1n],
      ['My_Header_X', '1'],
      ['x-my_header', 'three'],
    ]);
    expect(await names('', { my_header: '1' })).toEqual([['own', 1n]]);
  });

  it('need no long time for a pattern that backtracks in other engines', async () => {
    expect(await names('^(a+)+$', { [`${'a'.repeat(5000)}!`]: 'x' })).toEqual([['own', 1n]]);
  });

  it.each(['priority', 'triton_x', 'headers', 'sequence_id'])('must not be called %s', async (name) => {
    expect(await names('.*', { [name]: 'x' })).toBe(`{"error":"Header '${name}' is reserved for Triton usage and cannot be forwarded."}`);
  });
});
