import type { AnswerSink, Connection } from './connection.ts';

/** One answer in so many is read in full; of the others the status, the length and the first bytes have to be as those of one that was. */
const sampling = 64;

export interface ClosedLoopConfig {
  readonly slots: number;
  /** What is wrong with an answer, read in full. */
  readonly faultOf: (slot: number, answer: Buffer, jsonBytes: number) => string | undefined;
}

/** Keeps one request of each slot in flight: the next one goes out when its answer has come. */
export class ClosedLoop implements AnswerSink {
  answered = 0;
  failed = 0;
  /** The first one. */
  fault = '';
  inFlight = 0;
  readonly #config: ClosedLoopConfig;
  readonly #seen: Uint32Array;
  readonly #startMs: Float64Array;
  readonly #goodBytes: Float64Array;
  readonly #goodHead: Int32Array;
  #latencies = new Float32Array(1 << 16);
  #isMeasuring = false;
  #isOpen = true;
  #connectionOf: readonly Connection[] = [];
  #onIdle: (() => void) | undefined;

  constructor(config: ClosedLoopConfig) {
    this.#config = config;
    this.#seen = new Uint32Array(config.slots);
    this.#startMs = new Float64Array(config.slots);
    this.#goodBytes = new Float64Array(config.slots);
    this.#goodHead = new Int32Array(config.slots);
  }

  start(connectionOf: readonly Connection[]): void {
    this.#connectionOf = connectionOf;
    for (let slot = 0; slot < connectionOf.length; slot++) this.#issue(slot);
  }

  /** Counts from here. */
  measure(): void {
    this.answered = 0;
    this.#isMeasuring = true;
  }

  /** Ends the measured time: latencies in milliseconds, ascending. */
  measured(): Float32Array {
    this.#isMeasuring = false;
    return this.#latencies.subarray(0, this.answered).sort();
  }

  /** Sends nothing new. Resolves when nothing is in flight, or `patienceMs` have passed. */
  stop(patienceMs: number): Promise<void> {
    this.#isOpen = false;
    if (this.inFlight === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, patienceMs);
      this.#onIdle = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  isSampled(slot: number): boolean {
    // The first one too; and not those of all slots at once.
    const seen = this.#seen[slot] ?? 0;
    return seen === 0 || (seen + slot) % sampling === 0;
  }

  onAnswer(slot: number, bytes: Buffer | undefined, start: number, end: number, jsonBytes: number): void {
    const fault = this.#faultOf(slot, bytes, start, end, jsonBytes);
    if (fault === undefined) this.#count(slot);
    else this.#blame(`${fault} (slot ${slot})`);
    this.#seen[slot] = (this.#seen[slot] ?? 0) + 1;
    this.#goOn(slot);
  }

  onFault(slot: number, what: string): void {
    this.#blame(what);
    this.#goOn(slot);
  }

  onLost(what: string): void {
    if (this.inFlight > 0) this.#blame(what);
  }

  #faultOf(slot: number, bytes: Buffer | undefined, start: number, end: number, jsonBytes: number): string | undefined {
    const length = end - start;
    if (this.isSampled(slot)) {
      if (bytes === undefined || length < 4) return `an answer of ${length} bytes`;
      const fault = this.#config.faultOf(slot, bytes.subarray(start, end), jsonBytes);
      if (fault !== undefined) return fault;
      this.#goodBytes[slot] = length;
      this.#goodHead[slot] = bytes.readInt32LE(start);
      return undefined;
    }
    if (length !== this.#goodBytes[slot]) return `an answer of ${length} bytes, others had ${this.#goodBytes[slot]}`;
    return bytes === undefined || bytes.readInt32LE(start) === this.#goodHead[slot] ? undefined : 'an answer begins unlike others';
  }

  #count(slot: number): void {
    if (!this.#isMeasuring) return;
    if (this.answered === this.#latencies.length) {
      const longer = new Float32Array(2 * this.answered);
      longer.set(this.#latencies);
      this.#latencies = longer;
    }
    this.#latencies[this.answered++] = performance.now() - (this.#startMs[slot] ?? 0);
  }

  #blame(what: string): void {
    this.failed++;
    if (this.fault === '') this.fault = what;
  }

  #issue(slot: number): void {
    this.inFlight++;
    this.#startMs[slot] = performance.now();
    this.#connectionOf[slot]?.send(slot);
  }

  #goOn(slot: number): void {
    this.inFlight--;
    if (this.#isOpen) this.#issue(slot);
    else if (this.inFlight === 0) this.#onIdle?.();
  }
}
