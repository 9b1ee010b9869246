import { promisify } from 'node:util';
import { gunzip, type InputType, inflate, type ZlibOptions } from 'node:zlib';
import { InferError } from '../../../streams/inference/error.ts';

type Decompress = (bytes: InputType, options: ZlibOptions) => Promise<Buffer>;

/** gRPC's `deflate` is the format of zlib. */
const decompressors: ReadonlyMap<string, Decompress> = new Map<string, Decompress>([
  ['gzip', promisify<InputType, ZlibOptions, Buffer>(gunzip)],
  ['deflate', promisify<InputType, ZlibOptions, Buffer>(inflate)],
]);

/** For `grpc-accept-encoding`. */
export const acceptedEncodings = ['identity', ...decompressors.keys()].join(',');

const isTooLong = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';

/**
 * A message that a client compressed, as it was, worked out off the event loop.
 *
 * Rejects with InferError UNIMPLEMENTED for an encoding that is not known, RESOURCE_EXHAUSTED for a message above `limitBytes`, INTERNAL for bytes that
 * are not of this encoding, and for `identity`, which compresses nothing.
 */
export const decompress = async (bytes: Buffer, encoding: string, limitBytes: number): Promise<Buffer> => {
  if (encoding === 'identity') throw new InferError('INTERNAL', 'Received message with the compressed flag but without grpc-encoding');
  const decompressor = decompressors.get(encoding);
  if (decompressor === undefined) {
    throw new InferError('UNIMPLEMENTED', `Received message compressed with unsupported encoding "${encoding}"`);
  }
  try {
    return await decompressor(bytes, { maxOutputLength: limitBytes });
  } catch (cause) {
    if (isTooLong(cause)) {
      throw new InferError('RESOURCE_EXHAUSTED', `Received message that decompresses to a size larger than ${limitBytes}`, { cause });
    }
    throw new InferError('INTERNAL', 'Failed to decompress message', { cause });
  }
};
