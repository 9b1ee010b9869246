import { totalmem } from 'node:os';
import { InferError } from '../../streams/inference/error.ts';
import { BufferPool, pooledCapacity } from '../../streams/tensors/buffer-pool.ts';

/** What may lie unused. */
const keptBytes = 64 * 1024 * 1024;

/**
 * The memory of large request and answer bodies: how much of it may be held at once, and buffers that are used again, since a fresh one costs
 * several times the copy into it. When it is full, the request that asks for more is refused with UNAVAILABLE.
 */
export class BodyMemory {
  readonly limitBytes: number;
  #heldBytes = 0;
  readonly #pool = new BufferPool(keptBytes);

  constructor(limitBytes = Math.floor(totalmem() / 2)) {
    this.limitBytes = limitBytes;
  }

  /** Bytes of bodies in flight. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** A buffer of at least `size` bytes with any content. @throws InferError UNAVAILABLE */
  take(size: number): Buffer {
    const capacity = pooledCapacity(size);
    if (this.#heldBytes + capacity > this.limitBytes) {
      throw new InferError('UNAVAILABLE', `bodies in flight exceed ${this.limitBytes} bytes`);
    }
    this.#heldBytes += capacity;
    return this.#pool.take(size);
  }

  /** Takes a buffer back that nobody reads any more. */
  give(buffer: Buffer): void {
    this.forget(buffer);
    this.#pool.give(buffer);
  }

  /** Leaves a buffer to those who may still read it: it is not used again. */
  forget(buffer: Buffer): void {
    this.#heldBytes -= buffer.byteLength;
  }
}
