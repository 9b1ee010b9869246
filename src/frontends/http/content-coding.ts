import type { ZlibOptions } from 'node:zlib';
import zlib from 'node:zlib';
import { InferError, toInferError } from '../../streams/inference/error.ts';

export type CompressedCoding = 'gzip' | 'deflate';
export type ContentCoding = 'identity' | CompressedCoding;

const isContentCoding = (name: string): name is ContentCoding => name === 'identity' || name === 'gzip' || name === 'deflate';

/** Of a request body, from its `Content-Encoding`. @throws InferError UNIMPLEMENTED */
export const requestCoding = (contentEncoding: string | undefined): ContentCoding => {
  if (contentEncoding === undefined || contentEncoding === '') return 'identity';
  const name = contentEncoding.trim().toLowerCase();
  if (!isContentCoding(name)) throw new UnsupportedCoding('UNIMPLEMENTED', 'Unsupported compression type');
  return name;
};

/** Its answer tells in `Accept-Encoding` what would have been taken. */
export class UnsupportedCoding extends InferError {}

export const acceptedCodings = 'gzip, deflate';

/** Of an answer, from the request's `Accept-Encoding`: the highest weight that comes first wins; `*` is not understood. */
export const responseCoding = (acceptEncoding: string | undefined): ContentCoding => {
  if (acceptEncoding === undefined || acceptEncoding === '') return 'identity';
  let best: ContentCoding = 'identity';
  let bestWeight = 0;
  for (const part of acceptEncoding.split(',')) {
    const [name = '', ...parameters] = part.split(';');
    const coding = name.trim().toLowerCase();
    if (!isContentCoding(coding)) continue;
    const weight = weightOf(parameters);
    if (weight <= bestWeight) continue;
    best = coding;
    bestWeight = weight;
  }
  return best;
};

const weightOf = (parameters: readonly string[]): number => {
  for (const parameter of parameters) {
    const [name = '', value = ''] = parameter.split('=');
    if (name.trim().toLowerCase() !== 'q') continue;
    const weight = Number(value.trim());
    return Number.isFinite(weight) ? weight : 0;
  }
  return 1;
};

type Transform = (bytes: Uint8Array, options: ZlibOptions, callback: (error: Error | null, result: Buffer) => void) => void;

const decoders: Readonly<Record<CompressedCoding, Transform>> = { gzip: zlib.gunzip, deflate: zlib.inflate };
const encoders: Readonly<Record<CompressedCoding, Transform>> = { gzip: zlib.gzip, deflate: zlib.deflate };

/** Decompresses off the event loop. Rejects with INVALID_ARGUMENT for bytes that are not so compressed, or decompress to more than `maxBytes`. */
export const decompress = async (bytes: Uint8Array, coding: CompressedCoding, maxBytes: number): Promise<Buffer> => {
  try {
    return await transform(decoders[coding], bytes, { maxOutputLength: maxBytes });
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE') {
      throw new InferError(
        'INVALID_ARGUMENT',
        `Decompressed data size exceeds the maximum allowed value of ${maxBytes} bytes. Use --http-max-input-size to increase the limit.`,
      );
    }
    throw new InferError('INVALID_ARGUMENT', `Error decompressing data: ${toInferError(error).message}`, { cause: error });
  }
};

/** Compresses off the event loop. */
export const compress = (bytes: Uint8Array, coding: CompressedCoding): Promise<Buffer> => transform(encoders[coding], bytes, {});

const transform = (run: Transform, bytes: Uint8Array, options: ZlibOptions): Promise<Buffer> =>
  new Promise((resolve, reject) => run(bytes, options, (error, result) => (error === null ? resolve(result) : reject(error))));
