import type { AnswerSink, Connection } from '../load/connection.ts';
import type { Messages } from '../load/messages/messages.ts';
import { chunkMs } from './real-time.ts';
import { slotsPerStream } from './sequence-messages.ts';

/** One answer in so many is read in full. */
const sampling = 16;

/** Sends each stream's chunks when they are due, the streams spread evenly over the 32 ms, and takes the time until their answers. */
export class RealTimeLoop implements AnswerSink {
  /** The first thing that went wrong. */
  fault = '';
  inFlight = 0;
  readonly latencies: number[] = [];
  readonly lateness: number[] = [];
  readonly #faultOf: Messages['faultOf'];
  readonly #connectionOf: readonly Connection[];
  readonly #streams: number;
  /** Of each stream: when the chunks were due that it waits for, oldest first. */
  readonly #due: number[][];
  readonly #nextMs: Float64Array;
  readonly #seen: Uint32Array;
  #timer: NodeJS.Timeout | undefined;
  #isMeasuring = false;

  constructor(streams: number, faultOf: Messages['faultOf'], open: readonly Connection[]) {
    this.#streams = streams;
    this.#faultOf = faultOf;
    this.#connectionOf = open;
    this.#due = Array.from({ length: streams }, () => []);
    this.#nextMs = new Float64Array(streams);
    this.#seen = new Uint32Array(streams);
  }

  start(): void {
    const now = performance.now();
    for (let stream = 0; stream < this.#streams; stream++) {
      this.#nextMs[stream] = now + (chunkMs * stream) / this.#streams;
      this.#send(stream, stream * slotsPerStream, now);
    }
    this.#timer = setInterval(() => this.#sendDue(), 1);
  }

  measure(): void {
    this.#isMeasuring = true;
  }

  stop(): void {
    this.#isMeasuring = false;
    clearInterval(this.#timer);
  }

  isSampled(slot: number): boolean {
    const stream = Math.floor(slot / slotsPerStream);
    return ((this.#seen[stream] ?? 0) + stream) % sampling === 0;
  }

  onAnswer(slot: number, bytes: Buffer | undefined, start: number, end: number): void {
    const stream = Math.floor(slot / slotsPerStream);
    const isSampled = this.isSampled(slot);
    this.#seen[stream] = (this.#seen[stream] ?? 0) + 1;
    const dueMs = this.#due[stream]?.shift() ?? 0;
    this.inFlight--;
    if (this.#isMeasuring) this.latencies.push(performance.now() - dueMs);
    const fault = isSampled && bytes !== undefined ? this.#faultOf(slot, bytes.subarray(start, end), 0) : undefined;
    if (fault !== undefined) this.#blame(fault);
  }

  onFault(_slot: number, what: string): void {
    this.#blame(what);
  }

  onLost(what: string): void {
    this.#blame(what);
  }

  #sendDue(): void {
    const now = performance.now();
    for (let stream = 0; stream < this.#streams; stream++) {
      const dueMs = (this.#nextMs[stream] ?? 0) + chunkMs;
      if (now < dueMs) continue;
      this.#nextMs[stream] = dueMs;
      if (this.#isMeasuring) this.lateness.push(now - dueMs);
      this.#send(stream, stream * slotsPerStream + 1, dueMs);
    }
  }

  #send(stream: number, slot: number, dueMs: number): void {
    this.#due[stream]?.push(dueMs);
    this.inFlight++;
    this.#connectionOf[slot]?.send(slot);
  }

  #blame(what: string): void {
    if (this.fault === '') this.fault = what;
  }
}
