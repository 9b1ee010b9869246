import type { IncomingMessage } from 'node:http';
import { InferError } from '../../streams/inference/error.ts';
import type { BodyMemory } from './body-memory.ts';

export interface Body {
  /** The bytes are those from 0 to `length`. */
  readonly buffer: Buffer;
  readonly length: number;
  /** Whether `buffer` is from the body memory and has to go back there. */
  readonly isPooled: boolean;
}

export interface BodyLimit {
  readonly bytes: number;
  refuse(bytes: number): InferError;
}

/** How much is taken from the pool on the word of a Content-Length alone. Fresh memory costs nothing until it is written. */
const trustedBytes = 4 * 1024 * 1024;
const firstBytes = 64 * 1024;

/** Triton's limit of non-empty chunks. Node does not show where chunks end, so what is counted are pieces too small for one packet. */
const mostChunks = 65536;
const smallPiece = 1024;

const tooManyChunks = new InferError(
  'INVALID_ARGUMENT',
  `Chunked request body exceeds maximum of ${mostChunks} non-empty chunks. Send fewer or larger HTTP chunks.`,
);

/** After this one the connection is closed. */
export const isTooManyChunks = (error: unknown): boolean => error === tooManyChunks;

const clientGone = new InferError('CANCELLED', 'the client closed the connection', { reason: 'CANCELED' });

/** The Content-Length; undefined for a chunked body, 0 for none. Node has refused what is no number. */
export const declaredLength = ({ headers }: IncomingMessage): number | undefined => {
  if (headers['transfer-encoding'] !== undefined) return undefined;
  return Number(headers['content-length'] ?? 0);
};

/**
 * Reads a whole body, which must not have been touched. A body that comes in one piece is that piece, not copied; a larger one is copied once, into a buffer
 * that grows with what has come, not with what is announced. Rejects with an InferError, at once for an announced length past the limit; the
 * rest of the body is then the caller's to drain.
 */
export const readBody = (request: IncomingMessage, limit: BodyLimit, memory: BodyMemory): Promise<Body> => {
  const declared = declaredLength(request);
  if (declared !== undefined && declared > limit.bytes) return Promise.reject(limit.refuse(declared));
  if (declared === 0) {
    request.resume();
    return Promise.resolve({ buffer: Buffer.alloc(0), length: 0, isPooled: false });
  }
  return new Promise((resolve, reject) => new BodyReader(request, limit, memory, declared, { resolve, reject }).start());
};

interface Settle {
  resolve(body: Body): void;
  reject(error: unknown): void;
}

class BodyReader {
  readonly #request: IncomingMessage;
  readonly #limit: BodyLimit;
  readonly #memory: BodyMemory;
  readonly #declared: number | undefined;
  readonly #settle: Settle;
  /** The first piece, while it is all that has come. */
  #only: Buffer | undefined;
  #buffer: Buffer | undefined;
  #length = 0;
  #smallPieces = 0;

  constructor(request: IncomingMessage, limit: BodyLimit, memory: BodyMemory, declared: number | undefined, settle: Settle) {
    this.#request = request;
    this.#limit = limit;
    this.#memory = memory;
    this.#declared = declared;
    this.#settle = settle;
  }

  start(): void {
    this.#request.on('data', this.#onData);
    this.#request.on('end', this.#onEnd);
    this.#request.on('close', this.#onClose);
  }

  readonly #onData = (piece: Buffer): void => {
    try {
      this.#take(piece);
    } catch (error) {
      this.#fail(error);
    }
  };

  #take(piece: Buffer): void {
    const length = this.#length + piece.byteLength;
    if (length > this.#limit.bytes) throw this.#limit.refuse(length);
    if (piece.byteLength < smallPiece && this.#declared === undefined) this.#smallPieces++;
    if (this.#smallPieces > mostChunks) throw tooManyChunks;
    if (this.#length === 0) this.#only = piece;
    else this.#append(piece, length);
    this.#length = length;
  }

  #append(piece: Buffer, length: number): void {
    const only = this.#only;
    this.#only = undefined;
    if (only !== undefined) {
      this.#grow(Math.max(length, firstBytes, Math.min(this.#declared ?? 0, trustedBytes)));
      this.#buffer?.set(only, 0);
    } else if (this.#buffer !== undefined && length > this.#buffer.byteLength) {
      this.#grow(Math.max(length, Math.min(this.#buffer.byteLength * 4, this.#declared ?? this.#limit.bytes)));
    }
    this.#buffer?.set(piece, this.#length);
  }

  #grow(size: number): void {
    const grown = this.#memory.take(size);
    const old = this.#buffer;
    this.#buffer = grown;
    if (old === undefined) return;
    old.copy(grown, 0, 0, this.#length);
    this.#memory.give(old);
  }

  readonly #onEnd = (): void => {
    this.#stop();
    if (this.#buffer !== undefined) this.#settle.resolve({ buffer: this.#buffer, length: this.#length, isPooled: true });
    else this.#settle.resolve({ buffer: this.#only ?? Buffer.alloc(0), length: this.#length, isPooled: false });
  };

  readonly #onClose = (): void => this.#fail(clientGone);

  #fail(error: unknown): void {
    this.#stop();
    if (this.#buffer !== undefined) this.#memory.give(this.#buffer);
    this.#settle.reject(error);
  }

  #stop(): void {
    this.#request.off('data', this.#onData);
    this.#request.off('end', this.#onEnd);
    this.#request.off('close', this.#onClose);
  }
}
