const marks = { read: 0, written: 1, asleep: 2 } as const;

const markBytes = 64;

/**
 * Numbers on their way from one thread to another, in shared memory; each goes with a count of its writer's. It has room for as many as are written
 * before they are read: to know how many that are is the user's part.
 */
export class NumberRing {
  readonly shared: SharedArrayBuffer;
  readonly #marks: Int32Array;
  readonly #entries: Float64Array;
  readonly #mask: number;

  /** @param room how many may wait, for a new one; else the memory of one that there is */
  constructor(room: number | SharedArrayBuffer) {
    const size = typeof room === 'number' ? 2 ** Math.ceil(Math.log2(Math.max(2, room))) : (room.byteLength - markBytes) / 16;
    this.shared = typeof room === 'number' ? new SharedArrayBuffer(markBytes + 16 * size) : room;
    this.#marks = new Int32Array(this.shared, 0, 3);
    this.#entries = new Float64Array(this.shared, markBytes);
    this.#mask = size - 1;
    // Nobody has looked yet.
    if (typeof room === 'number') Atomics.store(this.#marks, marks.asleep, 1);
  }

  /** Whether the reader sleeps, so that the caller is to wake it: true for one caller alone. */
  write(value: number, count: number): boolean {
    const written = Atomics.load(this.#marks, marks.written);
    const at = 2 * (written & this.#mask);
    this.#entries[at] = value;
    this.#entries[at + 1] = count;
    Atomics.store(this.#marks, marks.written, (written + 1) | 0);
    return Atomics.load(this.#marks, marks.asleep) === 1 && Atomics.exchange(this.#marks, marks.asleep, 0) === 1;
  }

  get isEmpty(): boolean {
    return Atomics.load(this.#marks, marks.read) === Atomics.load(this.#marks, marks.written);
  }

  /** The count that went with the number that is next; only where there is one. */
  get nextCount(): number {
    return this.#entries[2 * (Atomics.load(this.#marks, marks.read) & this.#mask) + 1] ?? 0;
  }

  /** Only where there is one. */
  read(): number {
    const read = Atomics.load(this.#marks, marks.read);
    const value = this.#entries[2 * (read & this.#mask)] ?? 0;
    Atomics.store(this.#marks, marks.read, (read + 1) | 0);
    return value;
  }

  /** By the reader, before it looks for the last time and then waits to be woken. */
  sleep(): void {
    Atomics.store(this.#marks, marks.asleep, 1);
  }

  wake(): void {
    Atomics.store(this.#marks, marks.asleep, 0);
  }
}
