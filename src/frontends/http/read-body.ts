import type { IncomingMessage } from 'node:http';
import { InferError } from '../../streams/inference/error.ts';
import { madeBuffer } from '../../streams/tensors/young-buffers.ts';
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

/** What becomes of a body: exactly one of the two is called, once. */
export interface BodyTaker {
  takeBody(body: Body): void;
  refuseBody(error: unknown): void;
}

const noBody: Body = { buffer: Buffer.alloc(0), length: 0, isPooled: false };

/**
 * Reads a whole body, which must not have been touched. A body that comes in one piece is that piece, not copied; a larger one is copied once, into a buffer
 * that grows with what has come, not with what is announced. Refuses with an InferError, at once for an announced length past the limit; the
 * rest of the body is then the caller's to drain.
 */
export const readBodyFor = (taker: BodyTaker, request: IncomingMessage, limit: BodyLimit, memory: BodyMemory): void => {
  const declared = declaredLength(request);
  if (declared !== undefined && declared > limit.bytes) {
    taker.refuseBody(limit.refuse(declared));
  } else if (declared === 0) {
    request.resume();
    taker.takeBody(noBody);
  } else {
    new BodyReader(request, limit, memory, declared, taker).start();
  }
};

/** The same as a promise. */
export const readBody = (request: IncomingMessage, limit: BodyLimit, memory: BodyMemory): Promise<Body> =>
  new Promise((takeBody, refuseBody) => readBodyFor({ takeBody, refuseBody }, request, limit, memory));

class BodyReader {
  readonly #request: IncomingMessage;
  readonly #limit: BodyLimit;
  readonly #memory: BodyMemory;
  readonly #declared: number | undefined;
  readonly #taker: BodyTaker;
  /** The first piece, while it is all that has come. */
  #only: Buffer | undefined;
  #buffer: Buffer | undefined;
  #length = 0;
  #smallPieces = 0;
  /** The body is settled: what the request still says is no concern. Its listeners go with it. */
  #isDone = false;

  constructor(request: IncomingMessage, limit: BodyLimit, memory: BodyMemory, declared: number | undefined, taker: BodyTaker) {
    this.#request = request;
    this.#limit = limit;
    this.#memory = memory;
    this.#declared = declared;
    this.#taker = taker;
  }

  start(): void {
    this.#request.on('data', this.#onData);
    this.#request.on('end', this.#onEnd);
    this.#request.on('close', this.#onClose);
  }

  readonly #onData = (piece: Buffer): void => {
    madeBuffer(piece.byteLength);
    if (this.#isDone) return;
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
    if (this.#isDone) return;
    this.#isDone = true;
    if (this.#buffer !== undefined) this.#taker.takeBody({ buffer: this.#buffer, length: this.#length, isPooled: true });
    else if (this.#only !== undefined) this.#taker.takeBody({ buffer: this.#only, length: this.#length, isPooled: false });
    else this.#taker.takeBody(noBody);
  };

  readonly #onClose = (): void => this.#fail(clientGone);

  #fail(error: unknown): void {
    if (this.#isDone) return;
    this.#isDone = true;
    if (this.#buffer !== undefined) this.#memory.give(this.#buffer);
    this.#taker.refuseBody(error);
  }
}
