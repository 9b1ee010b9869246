import { InferError } from '../../../streams/inference/error.ts';
import { madeBuffer } from '../../../streams/tensors/young-buffers.ts';
import type { MessageBudget } from './message-budget.ts';

/** One byte that says whether the message is compressed, and four with its length. */
export const prefixBytes = 5;

/**
 * A message's prefix is no more than its client's word, so it gets so many times the memory of what has come of it, until that is as much as a client may
 * send ahead. Beyond it grows twofold.
 */
const trust = 64;
const trustedBytes = 4 * 2 ** 20;

const none: Buffer = Buffer.alloc(0);

export interface FramedMessage {
  readonly isCompressed: boolean;
  readonly bytes: Buffer;
  /** What of the budget it holds, for the caller to give back. */
  readonly heldBytes: number;
}

/** A message that waits must not hold the memory of much that came with it. */
const withoutNeighbours = (bytes: Buffer): Buffer => (2 * bytes.length < bytes.buffer.byteLength ? Buffer.from(bytes) : bytes);

/** Takes the messages of one call out of its data. */
export class MessageReader {
  readonly #limitBytes: number;
  readonly #budget: MessageBudget;
  /** What has come and is not read: the rest of one chunk, and more only where it came while nobody read. */
  #chunk: Buffer = none;
  #at = 0;
  readonly #prefix = Buffer.alloc(prefixBytes);
  #prefixLength = 0;
  /** Of the message whose prefix has been read. */
  #length = 0;
  #body: Buffer | undefined;
  #filled = 0;
  /** What of the budget the message holds that is not whole yet. */
  #heldBytes = 0;

  constructor(limitBytes: number, budget: MessageBudget) {
    this.#limitBytes = limitBytes;
    this.#budget = budget;
  }

  /** Whether some bytes of a message have come and others have not. */
  get isWithinMessage(): boolean {
    return this.#prefixLength > 0 || this.#at < this.#chunk.length;
  }

  push(chunk: Buffer): void {
    madeBuffer(chunk.length);
    this.#chunk = this.#at === this.#chunk.length ? chunk : Buffer.concat([this.#chunk.subarray(this.#at), chunk]);
    this.#at = 0;
  }

  /**
   * The next message that has come whole.
   *
   * @throws InferError RESOURCE_EXHAUSTED for one that is too long, UNAVAILABLE where the budget is spent, INTERNAL for what is no message; nothing can be
   *   read after it
   */
  next(): FramedMessage | undefined {
    if (!this.#readPrefix()) return undefined;
    const bytes = this.#readBody();
    if (bytes === undefined) return undefined;
    this.#prefixLength = 0;
    if (this.#at === this.#chunk.length) {
      this.#chunk = none;
      this.#at = 0;
    }
    const heldBytes = this.#heldBytes;
    this.#heldBytes = 0;
    return { isCompressed: this.#prefix[0] === 1, bytes, heldBytes };
  }

  /** Gives back what a message holds that never came whole. */
  close(): void {
    this.#budget.give(this.#heldBytes);
    this.#heldBytes = 0;
  }

  #readPrefix(): boolean {
    if (this.#prefixLength === prefixBytes) return true;
    const read = this.#chunk.copy(this.#prefix, this.#prefixLength, this.#at);
    this.#prefixLength += read;
    this.#at += read;
    if (this.#prefixLength < prefixBytes) return false;
    const flag = this.#prefix.readUInt8(0);
    if (flag > 1) throw new InferError('INTERNAL', `Received message with the compressed flag ${flag}, which is neither 0 nor 1`);
    this.#length = this.#prefix.readUInt32BE(1);
    if (this.#length > this.#limitBytes) {
      throw new InferError('RESOURCE_EXHAUSTED', `Received message larger than max (${this.#length} vs. ${this.#limitBytes})`);
    }
    return true;
  }

  #readBody(): Buffer | undefined {
    if (this.#body === undefined && this.#length <= this.#chunk.length - this.#at) {
      const start = this.#at;
      this.#at += this.#length;
      return withoutNeighbours(this.#chunk.subarray(start, this.#at));
    }
    this.#body ??= none;
    while (this.#at < this.#chunk.length && this.#filled < this.#length) {
      if (this.#filled === this.#body.length) this.#body = this.#grow(this.#body);
      const read = this.#chunk.copy(this.#body, this.#filled, this.#at, this.#at + this.#length - this.#filled);
      this.#filled += read;
      this.#at += read;
    }
    if (this.#filled < this.#length) return undefined;
    const body = this.#body;
    this.#body = undefined;
    this.#filled = 0;
    return body;
  }

  #grow(body: Buffer): Buffer {
    const come = this.#filled + this.#chunk.length - this.#at;
    const byteLength = Math.min(this.#length, Math.max(2 * this.#filled, Math.min(trust * come, trustedBytes)));
    this.#budget.take(byteLength - this.#heldBytes);
    this.#heldBytes = byteLength;
    madeBuffer(byteLength);
    const grown = Buffer.allocUnsafe(byteLength);
    body.copy(grown);
    return grown;
  }
}
