import type { Transform } from 'node:stream';
import { createGunzip, createInflate, type ZlibOptions } from 'node:zlib';
import { InferError } from '../../../streams/inference/error.ts';
import type { MessageBudget } from './message-budget.ts';

/** gRPC's `deflate` is the format of zlib. */
const decompressors: ReadonlyMap<string, (options: ZlibOptions) => Transform> = new Map<string, (options: ZlibOptions) => Transform>([
  ['gzip', createGunzip],
  ['deflate', createInflate],
]);

/** For `grpc-accept-encoding`. */
export const acceptedEncodings = ['identity', ...decompressors.keys()].join(',');

/** What is worked out at a time. */
const leastPieceBytes = 16 * 2 ** 10;
const mostPieceBytes = 2 ** 20;

const pieceBytes = (compressed: Buffer): number => Math.min(Math.max(4 * compressed.length, leastPieceBytes), mostPieceBytes);

const tooLong = (limitBytes: number): InferError =>
  new InferError('RESOURCE_EXHAUSTED', `Received message that decompresses to a size larger than ${limitBytes}`);

const openDecompressor = (encoding: string, compressed: Buffer): Transform => {
  if (encoding === 'identity') throw new InferError('INTERNAL', 'Received message with the compressed flag but without grpc-encoding');
  const open = decompressors.get(encoding);
  if (open === undefined) throw new InferError('UNIMPLEMENTED', `Received message compressed with unsupported encoding "${encoding}"`);
  return open({ chunkSize: pieceBytes(compressed) });
};

export interface MessageLimits {
  /** Longest message that is taken. */
  readonly limitBytes: number;
  readonly budget: MessageBudget;
}

export interface DecompressConfig extends MessageLimits {
  readonly encoding: string;
  /** Whether somebody waits for it still; asked piece by piece. */
  readonly isWanted: () => boolean;
}

/**
 * A message that a client compressed, as it was, worked out off the event loop. Its bytes are taken from the budget, for the caller to give back.
 *
 * Rejects with InferError UNIMPLEMENTED for an encoding that is not known, RESOURCE_EXHAUSTED for a message above `limitBytes`, UNAVAILABLE where the budget
 * is spent, CANCELLED once it is not wanted, INTERNAL for bytes that are not of this encoding, and for `identity`, which compresses nothing.
 */
export const decompress = async (bytes: Buffer, { encoding, limitBytes, budget, isWanted }: DecompressConfig): Promise<Buffer> => {
  const decompressor = openDecompressor(encoding, bytes);
  const pieces: Buffer[] = [];
  let length = 0;
  decompressor.end(bytes);
  try {
    for await (const piece of decompressor) {
      if (!isWanted()) throw new InferError('CANCELLED', 'nobody waits for the message', { reason: 'CANCELED' });
      if (length + piece.length > limitBytes) throw tooLong(limitBytes);
      budget.take(piece.length);
      length += piece.length;
      pieces.push(piece);
    }
    return Buffer.concat(pieces, length);
  } catch (cause) {
    budget.give(length);
    throw cause instanceof InferError ? cause : new InferError('INTERNAL', 'Failed to decompress message', { cause });
  }
};
