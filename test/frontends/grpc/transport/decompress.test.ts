import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { acceptedEncodings, decompress } from '../../../../src/frontends/grpc/transport/decompress.ts';
import { MessageBudget } from '../../../../src/frontends/grpc/transport/message-budget.ts';
import { InferError } from '../../../../src/streams/inference/error.ts';

const message = Buffer.from('a message '.repeat(100));
const isWanted = (): boolean => true;
const failsWith = async (bytes: Buffer, encoding: string, limitBytes: number, code: string, text: string): Promise<void> => {
  const budget = new MessageBudget();
  const failure = decompress(bytes, { encoding, limitBytes, budget, isWanted });
  await expect(failure).rejects.toBeInstanceOf(InferError);
  await expect(failure).rejects.toMatchObject({ code, message: text });
  expect(budget.heldBytes).toBe(0);
};

const compressors = [
  ['gzip', gzipSync],
  ['deflate', deflateSync],
] as const;

describe('decompress', () => {
  it.each(compressors)('reads %s up to the limit, and nothing as well', async (encoding, compress) => {
    const budget = new MessageBudget();
    expect(await decompress(compress(message), { encoding, limitBytes: message.length, budget, isWanted })).toEqual(message);
    expect(budget.heldBytes).toBe(message.length);
    expect(await decompress(compress(Buffer.alloc(0)), { encoding, limitBytes: 10, budget, isWanted })).toEqual(Buffer.alloc(0));
  });

  it.each(compressors)('refuses what %s makes longer than the limit', async (encoding, compress) => {
    const text = 'Received message that decompresses to a size larger than 999';
    await failsWith(compress(message), encoding, message.length - 1, 'RESOURCE_EXHAUSTED', text);
    await failsWith(compress(Buffer.alloc(10_000_000)), encoding, 999, 'RESOURCE_EXHAUSTED', text);
  });

  it.each(compressors)('lets what %s makes of all messages together be no more than the budget', async (encoding, compress) => {
    const budget = new MessageBudget(25_000_000);
    const bomb = compress(Buffer.alloc(10_000_000));
    const ends = await Promise.allSettled(
      Array.from({ length: 4 }, () => decompress(bomb, { encoding, limitBytes: 2 ** 30, budget, isWanted })),
    );
    const made = ends.filter(({ status }) => status === 'fulfilled').length;
    expect(made).toBeLessThanOrEqual(2);
    expect(ends).toContainEqual({ status: 'rejected', reason: new InferError('UNAVAILABLE', 'messages in flight exceed 25000000 bytes') });
    expect(budget.heldBytes).toBe(made * 10_000_000);
  });

  it.each<[string, string, Buffer]>([
    ['garbage', 'gzip', Buffer.from('garbage')],
    ['nothing', 'gzip', Buffer.alloc(0)],
    ['a part', 'gzip', gzipSync(message).subarray(0, -9)],
    ['the other one', 'gzip', deflateSync(message)],
    ['garbage', 'deflate', Buffer.from('garbage')],
    ['a part', 'deflate', deflateSync(message).subarray(0, -5)],
    ['the form without a header', 'deflate', deflateRawSync(message)],
  ])('refuses %s as %s', (_, encoding, bytes) => failsWith(bytes, encoding, 2000, 'INTERNAL', 'Failed to decompress message'));

  it.each(['br', 'snappy', 'GZIP', 'gzip, gzip', 'constructor', ''])('knows no %j', (encoding) =>
    failsWith(
      brotliCompressSync(message),
      encoding,
      2000,
      'UNIMPLEMENTED',
      `Received message compressed with unsupported encoding "${encoding}"`,
    ),
  );

  it.each(compressors)('stops %s when nobody waits for it', async (encoding, compress) => {
    const budget = new MessageBudget();
    let asked = 0;
    const isStillWanted = (): boolean => ++asked < 3;
    const work = decompress(compress(Buffer.alloc(10_000_000)), { encoding, limitBytes: 2 ** 30, budget, isWanted: isStillWanted });
    await expect(work).rejects.toMatchObject({ code: 'CANCELLED' });
    expect([asked, budget.heldBytes]).toEqual([3, 0]);
  });

  it('takes no message for compressed that is said to be and has no encoding', () =>
    failsWith(message, 'identity', 2000, 'INTERNAL', 'Received message with the compressed flag but without grpc-encoding'));

  it('tells clients what it reads', () => {
    expect(acceptedEncodings).toBe('identity,gzip,deflate');
  });
});
