import { totalmem } from 'node:os';
import { InferError } from '../../../streams/inference/error.ts';

/** Half of the machine's memory, as for the bodies of HTTP. */
export const messageBytesLimit = Math.floor(totalmem() / 2);

/**
 * How much the messages that clients send may hold at once, over all calls of a server: those that come in many pieces or compressed. A few bytes
 * of compressed data may be a thousand times as many. What a call takes it gives back when its next message has come, or when it is over.
 */
export class MessageBudget {
  readonly limitBytes: number;
  #heldBytes = 0;

  constructor(limitBytes = messageBytesLimit) {
    this.limitBytes = limitBytes;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** @throws InferError UNAVAILABLE where there is not so much left */
  take(bytes: number): void {
    if (this.#heldBytes + bytes > this.limitBytes) {
      throw new InferError('UNAVAILABLE', `messages in flight exceed ${this.limitBytes} bytes`);
    }
    this.#heldBytes += bytes;
  }

  give(bytes: number): void {
    this.#heldBytes -= bytes;
  }
}
