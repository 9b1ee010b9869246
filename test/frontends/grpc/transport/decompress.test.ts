import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { acceptedEncodings, decompress } from '../../../../src/frontends/grpc/transport/decompress.ts';
import { InferError } from '../../../../src/streams/inference/error.ts';

const message = Buffer.from('a message '.repeat(100));
const failsWith = async (bytes: Buffer, encoding: string, limitBytes: number, code: string, text: string): Promise<void> => {
  const failure = decompress(bytes, encoding, limitBytes);
  await expect(failure).rejects.toBeInstanceOf(InferError);
  await expect(failure).rejects.toMatchObject({ code, message: text });
};

const compressors = [
  ['gzip', gzipSync],
  ['deflate', deflateSync],
] as const;

describe('decompress', () => {
  it.each(compressors)('reads %s up to the limit, and nothing as well', async (encoding, compress) => {
    expect(await decompress(compress(message), encoding, message.length)).toEqual(message);
    expect(await decompress(compress(Buffer.alloc(0)), encoding, 10)).toEqual(Buffer.alloc(0));
  });

  it.each(compressors)('refuses what %s makes longer than the limit', async (encoding, compress) => {
    const text = 'Received message that decompresses to a size larger than 999';
    await failsWith(compress(message), encoding, message.length - 1, 'RESOURCE_EXHAUSTED', text);
    await failsWith(compress(Buffer.alloc(10_000_000)), encoding, 999, 'RESOURCE_EXHAUSTED', text);
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

  it('takes no message for compressed that is said to be and has no encoding', () =>
    failsWith(message, 'identity', 2000, 'INTERNAL', 'Received message with the compressed flag but without grpc-encoding'));

  it('tells clients what it reads', () => {
    expect(acceptedEncodings).toBe('identity,gzip,deflate');
  });
});
