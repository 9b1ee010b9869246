import { deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { compress, decompress, requestCoding, responseCoding } from '../../../src/frontends/http/content-coding.ts';

describe('responseCoding', () => {
  it.each([
    [undefined, 'identity'],
    ['', 'identity'],
    ['*', 'identity'],
    ['br', 'identity'],
    ['gzip', 'gzip'],
    ['deflate, gzip', 'deflate'],
    ['gzip;q=0.5, deflate;q=0.8', 'deflate'],
    ['gzip;q=0.5, deflate;q=0.5', 'gzip'],
    ['gzip;q=0', 'identity'],
    ['identity, gzip', 'identity'],
    ['identity;q=0.1, GZIP ; Q=0.2', 'gzip'],
    ['gzip;q=x, deflate;q=0.1', 'deflate'],
  ])('%j → %s', (accepted, coding) => {
    expect(responseCoding(accepted)).toBe(coding);
  });
});

describe('requestCoding', () => {
  it.each([
    [undefined, 'identity'],
    ['identity', 'identity'],
    [' GZIP ', 'gzip'],
    ['deflate', 'deflate'],
  ])('%j → %s', (encoding, coding) => {
    expect(requestCoding(encoding)).toBe(coding);
  });

  it('refuses what it does not know', () => {
    expect(() => requestCoding('br')).toThrow('Unsupported compression type');
  });
});

describe('decompress', () => {
  it('takes exactly the limit, and not one byte more', async () => {
    const bytes = Buffer.alloc(1000, 7);
    expect(await decompress(gzipSync(bytes), 'gzip', 1000)).toEqual(bytes);
    expect(await decompress(deflateSync(bytes), 'deflate', 1000)).toEqual(bytes);
    await expect(decompress(gzipSync(bytes), 'gzip', 999)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: 'Decompressed data size exceeds the maximum allowed value of 999 bytes. Use --http-max-input-size to increase the limit.',
    });
  });

  it('refuses bytes that are not so compressed, or not all there', async () => {
    const gzip = gzipSync(Buffer.alloc(1000, 7));
    for (const broken of [Buffer.from('no gzip'), gzip.subarray(0, 12), deflateSync(Buffer.alloc(9))]) {
      await expect(decompress(broken, 'gzip', 1000)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    }
  });

  it('undoes compress', async () => {
    const bytes = Buffer.from('some text');
    expect(await decompress(await compress(bytes, 'deflate'), 'deflate', 100)).toEqual(bytes);
  });
});
