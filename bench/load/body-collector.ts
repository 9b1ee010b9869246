/** Up to here a body that comes in pieces is put together in any case. */
const alwaysKept = 64 * 1024;

/** Puts the pieces of a body together where somebody wants to read it, and counts them where not: copying 8 MiB is no small part of receiving them. */
export class BodyCollector {
  /** The body, from `start` to `end`, once all pieces are there; undefined for one that was only counted. */
  bytes: Buffer | undefined;
  start = 0;
  end = 0;
  #held = Buffer.alloc(0);
  #size = 0;
  #length = 0;
  #isKept = false;

  begin(sizeBytes: number, isWanted: boolean): void {
    this.#size = sizeBytes;
    this.#length = 0;
    this.#isKept = isWanted || sizeBytes <= alwaysKept;
  }

  add(chunk: Buffer, start: number, end: number): void {
    if (end - start === this.#size) {
      this.bytes = chunk;
      this.start = start;
      this.end = end;
      return;
    }
    if (this.#isKept) {
      if (this.#held.length < this.#size) this.#held = Buffer.allocUnsafe(this.#size);
      chunk.copy(this.#held, this.#length, start, end);
    }
    this.#length += end - start;
    this.bytes = this.#isKept ? this.#held : undefined;
    this.start = 0;
    this.end = this.#length;
  }
}
