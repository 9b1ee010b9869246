import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readLines, readPage } from '../../examples/clients/ocr-client.ts';
import { pageLines } from '../../scripts/examples/page.ts';
import { Server } from '../../src/index.ts';
import { type Fields, GrpcClient } from '../frontends/grpc/support/client.ts';
import { until } from '../support/until.ts';
import type { ModelRepository } from './support/model-repository.ts';
import { ocrModels, page, releasingWidth } from './support/ocr-models.ts';

const local = { address: '127.0.0.1', port: 0 };

const element = (bytes: Uint8Array): Buffer => {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(bytes.length);
  return Buffer.concat([length, bytes]);
};

const askGrpc = (model: string, image: Uint8Array, id = ''): Fields => ({
  model_name: model,
  id,
  inputs: [{ name: 'IMAGE', datatype: 'BYTES', shape: [1] }],
  outputs: [{ name: 'TEXT' }],
  raw_input_contents: [element(image)],
});

/** The elements of TEXT. */
const textsOf = (answer: unknown): readonly string[] => {
  const {
    raw_output_contents: [raw = Buffer.alloc(0)],
  } = answer as { readonly raw_output_contents: readonly Buffer[] };
  const texts: string[] = [];
  for (let at = 0; at < raw.length; ) {
    const end = at + 4 + raw.readUInt32LE(at);
    texts.push(raw.toString('utf8', at + 4, end));
    at = end;
  }
  return texts;
};

const streamedTexts = (messages: readonly Fields[]): readonly string[] => messages.flatMap(({ infer_response: answer }) => textsOf(answer));

const texts = (lines: readonly { readonly text: string }[]): readonly string[] => lines.map(({ text }) => text);

const blank = (): Promise<Buffer> =>
  sharp({ create: { width: 300, height: 200, channels: 3, background: 'white' } })
    .jpeg()
    .toBuffer();

/** Nothing of any model waits or runs. */
const isIdle = (server: Server): boolean =>
  server.graphs().every(({ stages }) => stages.every(({ queued, running }) => queued + running === 0));

describe('the example that reads text', () => {
  let repository: ModelRepository;
  let server: Server;
  let grpc: GrpcClient;
  let image: Buffer;

  beforeAll(async () => {
    image = await page();
    repository = await ocrModels('text_line');
    server = await Server.start({ modelRepository: repository.path, http: local, grpc: local, log: { info: false } });
    grpc = new GrpcClient(server.ports.grpc ?? 0);
  });

  afterAll(async () => {
    grpc.close();
    await server.close();
    await repository[Symbol.asyncDispose]();
  });

  it('reads its test image over HTTP', async () => {
    const lines = await readPage(`http://127.0.0.1:${server.ports.http}`, image);
    expect(texts(lines)).toEqual(pageLines);
    expect(lines.every(({ score }) => score > 0.8)).toBe(true);
  });

  it('reads its test image over gRPC, alone and in a stream', async () => {
    expect(textsOf(await grpc.infer(askGrpc('ocr', image)))).toEqual(pageLines);
    const stream = grpc.stream();
    stream.send(askGrpc('ocr_stream', image));
    const { messages, status: end } = await stream.finish();
    expect([end.code, streamedTexts(messages), messages.length]).toEqual([status.OK, pageLines, pageLines.length]);
  });

  it('reads its test image over a WebSocket', async () => {
    const lines = [];
    for await (const line of readLines(`ws://127.0.0.1:${server.ports.http}`, image)) lines.push(line);
    expect(texts(lines)).toEqual(pageLines);
  });

  it('says where the lines are', async () => {
    const answer = await server.model('ocr').inferOnce({ inputs: { IMAGE: { shape: [1], values: [image] } }, outputs: ['BOX'] });
    const boxes = [...answer.values('BOX')].map(Number);
    expect(answer.tensor('BOX').shape).toEqual([pageLines.length, 4]);
    // The first line is drawn at (60, 50) and is 42 pixels high.
    const [left = 0, top = 0, , bottom = 0] = boxes;
    expect([left < 60, left > 40, top < 50, top > 30, bottom > 92, bottom < 112]).toEqual(Array(6).fill(true));
  });

  it('does not mix pages that it reads at once', async () => {
    const [empty, photo] = [await blank(), await sharp(image).flatten().jpeg({ quality: 95 }).toBuffer()];
    const read = await Promise.all([image, empty, photo, empty].map(async (each) => textsOf(await grpc.infer(askGrpc('ocr', each)))));
    expect(read).toEqual([pageLines, [], pageLines, []]);
    const stream = grpc.stream();
    stream.send(askGrpc('ocr_stream', image, 'page'));
    stream.send(askGrpc('ocr_stream', empty, 'empty'));
    const { messages } = await stream.finish();
    expect(messages.map(({ infer_response: answer }) => (answer as Fields).id)).toEqual(pageLines.map(() => 'page'));
    expect(streamedTexts(messages)).toEqual(pageLines);
  });

  it('names the step that a damaged image stops at', async () => {
    const damaged = image.subarray(0, image.length / 2);
    const expected = /^in ensemble 'ocr', IMAGE is not an image that can be read: .* \(step 0, model 'ocr_image'\)$/;
    await expect(readPage(`http://127.0.0.1:${server.ports.http}`, damaged)).rejects.toThrow(expected);
    await expect(grpc.infer(askGrpc('ocr', Buffer.from('no image')))).rejects.toMatchObject({
      code: status.INVALID_ARGUMENT,
      details: expect.stringMatching(expected),
    });
    const stream = readLines(`ws://127.0.0.1:${server.ports.http}`, damaged);
    await expect(stream.next()).rejects.toThrow(/^in ensemble 'ocr_stream', IMAGE is not/);
    await until(() => isIdle(server));
  });

  it('is described by a file that lies beside its image', () => {
    const file = readFileSync(join(import.meta.dirname, '..', '..', 'examples', 'data', 'page.txt'), 'utf8');
    expect(file).toBe(`${pageLines.join('\n')}\n`);
  });
});

describe('while the last line is held back from the recogniser', () => {
  let repository: ModelRepository;
  let server: Server;

  beforeAll(async () => {
    repository = await ocrModels('held text_line');
    server = await Server.start({ modelRepository: repository.path, http: local, log: { info: false } });
  });

  afterAll(async () => {
    await server.close();
    await repository[Symbol.asyncDispose]();
  });

  it('the others arrive, and the last one once it is let go', async () => {
    const lines = readLines(`ws://127.0.0.1:${server.ports.http}`, await page());
    const before: string[] = [];
    while (before.length < pageLines.length - 1) before.push((await lines.next()).value?.text);
    expect(before).toEqual(pageLines.slice(0, -1));
    const recognised = (await server.model('recogniser').statistics()).map(({ inference_count: count }) => count);
    expect(recognised).toEqual([pageLines.length - 1]);

    const shape = [1, 3, 48, releasingWidth];
    await server.model('text_line').inferOnce({ inputs: { x: { shape, values: new Float32Array(3 * 48 * releasingWidth) } } });
    expect((await lines.next()).value?.text).toBe(pageLines.at(-1));
    expect((await lines.next()).done).toBe(true);
  });
});
