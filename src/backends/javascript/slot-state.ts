/** What main thread and worker say to each other about one slot beside its tensors, in shared memory. */
export class SlotState {
  readonly shared: SharedArrayBuffer;
  readonly #marks: Int32Array;
  readonly #times: Float64Array;

  constructor(shared?: SharedArrayBuffer) {
    this.shared = shared ?? new SharedArrayBuffer(32);
    this.#marks = new Int32Array(this.shared, 0, 4);
    this.#times = new Float64Array(this.shared, 16, 2);
  }

  /** By the main thread, before a batch begins. */
  reset(): void {
    this.isAbandoned = false;
    Atomics.store(this.#marks, 1, 0);
    Atomics.store(this.#marks, 2, 0);
    this.beganMs = 0;
  }

  /** Nobody waits for the batch any more: a worker that has not begun it leaves it, a generator is ended. */
  get isAbandoned(): boolean {
    return Atomics.load(this.#marks, 0) === 1;
  }

  set isAbandoned(value: boolean) {
    Atomics.store(this.#marks, 0, value ? 1 : 0);
  }

  /** Of a generator's answers: how many the main thread has read. */
  get read(): number {
    return Atomics.load(this.#marks, 1);
  }

  addRead(): void {
    Atomics.add(this.#marks, 1, 1);
  }

  /** Set by a worker that waits until so many are read: a message is to tell it. 0 for none. */
  get awaited(): number {
    return Atomics.load(this.#marks, 2);
  }

  set awaited(value: number) {
    Atomics.store(this.#marks, 2, value);
  }

  /** When the model began with the batch, by the main thread's clock; 0 before, and where nobody asks. */
  get beganMs(): number {
    return this.#times[0] ?? 0;
  }

  set beganMs(value: number) {
    this.#times[0] = value;
  }

  /** How long it ran. */
  get runMs(): number {
    return this.#times[1] ?? 0;
  }

  set runMs(value: number) {
    this.#times[1] = value;
  }
}
