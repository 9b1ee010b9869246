import { totalmem } from 'node:os';
import { InferError } from '../../streams/inference/error.ts';

/** Below this a buffer of its own costs no more than one from the pool. */
const smallestPooled = 64 * 1024;
const largestPooled = 16 * 1024 * 1024;
const keptBytes = 64 * 1024 * 1024;

/**
 * The memory of large request and answer bodies: how much of it may be held at once, and buffers that are used again, since a fresh one costs
 * several times the copy into it. When it is full, the request that asks for more is refused with UNAVAILABLE.
 */
export class BodyMemory {
  readonly limitBytes: number;
  #heldBytes = 0;
  #idleBytes = 0;
  readonly #idle = new Map<number, Buffer[]>();

  constructor(limitBytes = Math.floor(totalmem() / 2)) {
    this.limitBytes = limitBytes;
  }

  /** Bytes of bodies in flight. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** A buffer of at least `size` bytes with any content. @throws InferError UNAVAILABLE */
  take(size: number): Buffer {
    const capacity = capacityFor(size);
    if (this.#heldBytes + capacity > this.limitBytes) {
      throw new InferError('UNAVAILABLE', `bodies in flight exceed ${this.limitBytes} bytes`);
    }
    this.#heldBytes += capacity;
    const idle = this.#idle.get(capacity)?.pop();
    if (idle === undefined) return Buffer.allocUnsafeSlow(capacity);
    this.#idleBytes -= capacity;
    return idle;
  }

  /** Takes a buffer back that nobody reads any more. */
  give(buffer: Buffer): void {
    this.forget(buffer);
    const capacity = buffer.byteLength;
    if (capacity < smallestPooled || capacity > largestPooled || this.#idleBytes + capacity > keptBytes) return;
    this.#idleBytes += capacity;
    const idle = this.#idle.get(capacity);
    if (idle === undefined) this.#idle.set(capacity, [buffer]);
    else idle.push(buffer);
  }

  /** Leaves a buffer to those who may still read it: it is not used again. */
  forget(buffer: Buffer): void {
    this.#heldBytes -= buffer.byteLength;
  }
}

/** Powers of two, and half-way between them, so that little is wasted. */
const capacityFor = (size: number): number => {
  if (size < smallestPooled || size > largestPooled) return size;
  let capacity = smallestPooled;
  while (capacity < size) capacity *= 2;
  const between = capacity * 0.75;
  return between >= size && between >= smallestPooled ? between : capacity;
};
