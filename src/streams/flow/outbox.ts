import { WaitingList } from './waiting-list.ts';

export interface OutboxConfig<T> {
  /**
   * Hands one item to the sink, which takes it in any case; false when the sink is full now and `drained` will be called once it has room:
   * `Writable.write` and its `drain`.
   */
  readonly write: (item: T) => boolean;
  /** Bytes of memory that an item holds. */
  readonly size: (item: T) => number;
  /** First mark: with more than this waiting the producer should stop until `onResume`. */
  readonly pauseAboveBytes: number;
  /** Second mark: with more than this waiting `offer` refuses. */
  readonly refuseAboveBytes: number;
  /** Called once when the first mark is passed; then once `onResume` when half of the mark or less waits. */
  readonly onPause: () => void;
  readonly onResume: () => void;
}

/** So that a flood of empty items is bounded as well. */
const smallestItemBytes = 128;

/**
 * Bounded buffer before a slow writer. Items go out in the order in which they were offered, each once.
 *
 * While the sink has room nothing waits here. Otherwise items wait, up to `refuseAboveBytes` and the one item that passed the mark, so that a
 * single large item always fits. An item counts for at least 128 bytes.
 */
export class Outbox<T extends NonNullable<unknown>> {
  readonly #config: OutboxConfig<T>;
  readonly #waiting = new WaitingList<T>();
  #queuedBytes = 0;
  #sinkIsFull = false;
  #isWriting = false;
  #isPaused = false;
  #isClosed = false;
  #onEmpty: (() => void)[] = [];

  constructor(config: OutboxConfig<T>) {
    this.#config = config;
  }

  /** What waits here; what the sink has taken is its own. */
  get queuedBytes(): number {
    return this.#queuedBytes;
  }

  get queuedItems(): number {
    return this.#waiting.length;
  }

  /** Whether the producer may go on: fewer bytes wait than the first mark allows, and it is not closed. */
  get isOpen(): boolean {
    return !this.#isPaused && !this.#isClosed;
  }

  /** False, and the item is not taken, past the second mark or after `close`. */
  offer(item: T): boolean {
    if (this.#isClosed || this.#queuedBytes > this.#config.refuseAboveBytes) return false;
    if (!this.#sinkIsFull && !this.#isWriting && this.#waiting.length === 0) {
      this.#write(item);
      this.#flush();
      return true;
    }
    this.#waiting.push(item);
    this.#queuedBytes += this.#bytes(item);
    if (!this.#isPaused && this.#queuedBytes > this.#config.pauseAboveBytes) {
      this.#isPaused = true;
      this.#config.onPause();
    }
    return true;
  }

  /** The sink has room again. */
  drained(): void {
    this.#sinkIsFull = false;
    this.#flush();
  }

  /** Forgets what waits: the sink is gone. */
  close(): void {
    this.#isClosed = true;
    this.#waiting.clear();
    this.#queuedBytes = 0;
    this.#tellEmpty();
  }

  /** Resolves once nothing waits here: all of it is handed to the sink, or `close` was called. */
  whenEmpty(): Promise<void> {
    if (this.#waiting.length === 0) return Promise.resolve();
    return new Promise((resolve) => this.#onEmpty.push(resolve));
  }

  /** A sink may drain, and a producer offer, while an item is being written: the loop that runs already goes on with it. */
  #flush(): void {
    if (this.#isWriting) return;
    while (!this.#sinkIsFull) {
      const item = this.#waiting.shift();
      if (item === undefined) break;
      this.#queuedBytes -= this.#bytes(item);
      this.#write(item);
      this.#resume();
    }
    if (this.#waiting.length === 0) this.#tellEmpty();
  }

  #write(item: T): void {
    this.#isWriting = true;
    // Before the call: the sink may drain while it writes, and then its answer is out of date.
    this.#sinkIsFull = true;
    try {
      if (this.#config.write(item)) this.#sinkIsFull = false;
    } finally {
      this.#isWriting = false;
    }
  }

  #resume(): void {
    if (!this.#isPaused || this.#isClosed || this.#queuedBytes > this.#config.pauseAboveBytes / 2) return;
    this.#isPaused = false;
    this.#config.onResume();
  }

  #tellEmpty(): void {
    if (this.#onEmpty.length === 0) return;
    const resolvers = this.#onEmpty;
    this.#onEmpty = [];
    for (const resolve of resolvers) resolve();
  }

  #bytes(item: T): number {
    return Math.max(smallestItemBytes, this.#config.size(item));
  }
}
