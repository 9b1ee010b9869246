import type { IncomingMessage, ServerResponse } from 'node:http';
import { fastify } from 'fastify';

/** Buffers of answers that have gone, by size. */
const pool = new Map<number, Buffer[]>();

const take = (size: number): Buffer => pool.get(size)?.pop() ?? Buffer.allocUnsafeSlow(size);

const give = (buffer: Buffer): void => {
  const free = pool.get(buffer.length);
  if (free === undefined) pool.set(buffer.length, [buffer]);
  else free.push(buffer);
};

interface Body {
  readonly bytes: Buffer;
  readonly isPooled: boolean;
}

/** A body that comes in one piece as that piece; else in one buffer from the pool, sized from Content-Length. */
const readBody = (request: IncomingMessage): Promise<Body> =>
  new Promise((resolve, reject) => {
    const size = Number(request.headers['content-length']);
    let whole: Buffer | undefined;
    let only: Buffer | undefined;
    let at = 0;
    request.on('data', (piece: Buffer) => {
      if (piece.length === size) {
        only = piece;
        return;
      }
      whole ??= take(size);
      at += piece.copy(whole, at);
    });
    request.on('error', reject);
    request.on('end', () => resolve({ bytes: only ?? whole ?? Buffer.alloc(0), isPooled: whole !== undefined }));
  });

const heads = new Map<number, Buffer>();

/** The fixed head of an answer of so many bytes of FP32. */
const headOf = (tensorBytes: number): Buffer => {
  const known = heads.get(tensorBytes);
  if (known !== undefined) return known;
  const output = { name: 'OUTPUT0', datatype: 'FP32', shape: [1, tensorBytes / 4], parameters: { binary_data_size: tensorBytes } };
  const head = Buffer.from(JSON.stringify({ model_name: 'echo', model_version: '1', outputs: [output] }));
  heads.set(tensorBytes, head);
  return head;
};

/** Answers of up to here leave in one write with their headers, which node does with strings alone; larger ones by reference. */
const joinedBytes = 4096;

const answer = (response: ServerResponse, { bytes, isPooled }: Body, jsonBytes: number): void => {
  const tensor = bytes.subarray(jsonBytes);
  const head = headOf(tensor.length);
  response.writeHead(200, [
    'Content-Type',
    'application/octet-stream',
    'Inference-Header-Content-Length',
    String(head.length),
    'Content-Length',
    String(head.length + tensor.length),
  ]);
  if (isPooled) response.once('close', () => give(bytes));
  if (tensor.length <= joinedBytes) {
    response.end(head.toString('latin1') + tensor.toString('latin1'), 'latin1');
    return;
  }
  response.cork();
  response.write(head);
  response.end(tensor);
  response.uncork();
};

/** fastify with a reader of raw bodies and nothing behind it: tensor bytes go back behind a fixed head. Answers the port. */
export const serveHttpEcho = async (): Promise<number> => {
  const app = fastify({ logger: false });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
  app.post('/v2/models/:model/infer', async (request, reply) => {
    reply.hijack();
    answer(reply.raw, await readBody(request.raw), Number(request.headers['inference-header-content-length']));
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const address = app.server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
};
