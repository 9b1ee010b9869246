const smallest = 4096;

/** Batches after which memory that has become far too large is replaced. */
const window = 1024;

/**
 * Shared memory that is made larger when a batch needs more, in powers of two, and smaller when `window` batches on end have needed less
 * than a quarter of it: one large request does not hold its memory for good. Making it anew forgets the content.
 */
export class GrowingMemory {
  buffer: Buffer<SharedArrayBuffer>;
  #largest = 0;
  #batches = 0;

  constructor() {
    this.buffer = Buffer.from(new SharedArrayBuffer(smallest));
  }

  get shared(): SharedArrayBuffer {
    return this.buffer.buffer;
  }

  /** Makes room for `sizeBytes`. True when the memory is another one now. */
  fit(sizeBytes: number): boolean {
    this.#largest = Math.max(this.#largest, sizeBytes);
    this.#batches++;
    const isDue = this.#batches >= window;
    const wanted = roomFor(isDue ? this.#largest : sizeBytes);
    const capacity = this.buffer.byteLength;
    if (isDue) {
      this.#largest = sizeBytes;
      this.#batches = 0;
    }
    if (wanted <= capacity && !(isDue && wanted * 4 < capacity)) return false;
    this.buffer = Buffer.from(new SharedArrayBuffer(wanted));
    return true;
  }
}

const roomFor = (sizeBytes: number): number => Math.max(smallest, 2 ** Math.ceil(Math.log2(Math.max(1, sizeBytes))));
