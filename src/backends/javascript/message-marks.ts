const longestWaitMs = 1000;

/** Counts of a worker's messages of one kind, in shared memory: what was sent, and what the main thread has read. */
export class MessageMarks {
  readonly shared: SharedArrayBuffer;
  readonly #marks: Int32Array;

  constructor(shared?: SharedArrayBuffer) {
    this.shared = shared ?? new SharedArrayBuffer(8);
    this.#marks = new Int32Array(this.shared);
  }

  get waiting(): number {
    return (Atomics.load(this.#marks, 0) - Atomics.load(this.#marks, 1)) | 0;
  }

  sent(): void {
    Atomics.add(this.#marks, 0, 1);
  }

  read(): void {
    Atomics.add(this.#marks, 1, 1);
    Atomics.notify(this.#marks, 1);
  }

  /** Stops this thread until fewer wait than that. For workers: the main thread is never to stop. */
  waitUntilFewer(most: number): void {
    while (this.waiting >= most) {
      const read = Atomics.load(this.#marks, 1);
      if (this.waiting >= most) Atomics.wait(this.#marks, 1, read, longestWaitMs);
    }
  }
}
