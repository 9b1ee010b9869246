import { madeBuffer } from './young-buffers.ts';

/** Below this a buffer of its own costs no more than one from the pool. */
const smallestPooled = 64 * 1024;
const largestPooled = 16 * 1024 * 1024;

/** Powers of two, and half-way between them, so that little is wasted. */
export const pooledCapacity = (byteLength: number): number => {
  if (byteLength < smallestPooled || byteLength > largestPooled) return byteLength;
  let capacity = smallestPooled;
  while (capacity < byteLength) capacity *= 2;
  const between = capacity * 0.75;
  return between >= byteLength && between >= smallestPooled ? between : capacity;
};

/** Memory of large messages, used again: a fresh buffer costs several times the copy into it. */
export class BufferPool {
  readonly #idleLimitBytes: number;
  readonly #idle = new Map<number, Buffer[]>();
  #idleBytes = 0;

  /** `idleLimitBytes`: what may lie unused. */
  constructor(idleLimitBytes: number) {
    this.#idleLimitBytes = idleLimitBytes;
  }

  /** A buffer of `pooledCapacity(byteLength)` bytes with any content. */
  take(byteLength: number): Buffer {
    const capacity = pooledCapacity(byteLength);
    const idle = this.#idle.get(capacity)?.pop();
    if (idle !== undefined) {
      this.#idleBytes -= capacity;
      return idle;
    }
    if (capacity < smallestPooled) return Buffer.allocUnsafe(capacity);
    madeBuffer(capacity);
    return Buffer.allocUnsafeSlow(capacity);
  }

  /** Takes a buffer back that nobody reads any more. */
  give(buffer: Buffer): void {
    const capacity = buffer.byteLength;
    if (capacity < smallestPooled || capacity > largestPooled || this.#idleBytes + capacity > this.#idleLimitBytes) return;
    this.#idleBytes += capacity;
    const idle = this.#idle.get(capacity);
    if (idle === undefined) this.#idle.set(capacity, [buffer]);
    else idle.push(buffer);
  }
}
