import type { Subscriber } from 'rxjs';
import type { Batch, Part } from '../../streams/inference/backend.ts';
import { HeldAnswers } from './held-answers.ts';
import type { WrittenBatch } from './write-batch.ts';

/** Of a request: its caller has gone, its last answer has come, that has been handed on. */
const marks = { isGone: 1, hasLast: 2, isEnded: 4 } as const;

/** A batch that the process has, or waits for its turn to be given to it. */
export class OpenRun {
  readonly batch: Batch;
  readonly subscriber: Subscriber<Part>;
  /** By request. */
  readonly #marks: number[];
  #open: number;
  #written: WrittenBatch | undefined;
  /** Answers have waited for room, and none does any more. */
  readonly #onEmpty: (run: OpenRun) => void;
  /** By request; none before the first one waits. */
  #held: (HeldAnswers | undefined)[] | undefined;
  /** By which the process knows it; 0 until it has it. */
  id = 0;
  /** The model's code has returned: the process can take another batch. */
  isExecuted = false;

  constructor(batch: Batch, subscriber: Subscriber<Part>, onEmpty: (run: OpenRun) => void) {
    this.batch = batch;
    this.subscriber = subscriber;
    this.#onEmpty = onEmpty;
    this.#marks = batch.requests.map(() => 0);
    this.#open = batch.requests.length;
  }

  get hasEnded(): boolean {
    return this.isExecuted && this.#open === 0;
  }

  /** Answers to the request may still come. */
  awaits(of: number): boolean {
    const request = this.#marks[of];
    return request !== undefined && (request & marks.hasLast) === 0;
  }

  /** No more of them will come. */
  endAwaiting(of: number): void {
    this.#add(of, marks.hasLast);
  }

  emit(part: Part): void {
    if (part.isLast && ((this.#marks[part.of] ?? 0) & marks.isEnded) === 0) {
      this.#add(part.of, marks.isEnded);
      this.#open--;
    }
    if (!this.subscriber.closed) this.subscriber.next(part);
  }

  /** Where the answers to the request wait for room; undefined when the next one need not. */
  holds(of: number): HeldAnswers | undefined {
    const held = this.#held?.[of];
    if (held !== undefined) return held;
    const demand = this.batch.requests[of]?.demand;
    if (demand === undefined || demand.isOpen || this.#isGone(of)) return undefined;
    const made = new HeldAnswers({ demand, emit: (part) => this.emit(part), onEmpty: () => this.#onEmpty(this) });
    this.#held ??= [];
    this.#held[of] = made;
    return made;
  }

  begin(id: number, written: WrittenBatch): void {
    this.id = id;
    this.#written = written;
    for (let of = 0; of < this.#marks.length; of++) if (this.#isGone(of)) this.#showGone(of);
  }

  /** The caller of a request has gone: the model may see it, and nothing waits for room any more. */
  letGo(of: number): void {
    this.#add(of, marks.isGone);
    this.#showGone(of);
    this.#held?.[of]?.letGo();
  }

  letGoAll(): void {
    for (let of = 0; of < this.#marks.length; of++) this.letGo(of);
  }

  /** It has ended in another way than by its last answers. */
  forget(): void {
    for (const held of this.#held ?? []) held?.forget();
  }

  #isGone(of: number): boolean {
    return ((this.#marks[of] ?? 0) & marks.isGone) !== 0;
  }

  #add(of: number, mark: number): void {
    const request = this.#marks[of];
    if (request !== undefined) this.#marks[of] = request | mark;
  }

  /** Where the process reads the batch. With the last answer, that place may have become another batch's. */
  #showGone(of: number): void {
    const mark = this.#written?.marks[of];
    const buffer = this.#written?.block.segment.memory.buffer;
    if (mark !== undefined && buffer !== undefined && this.awaits(of)) buffer[mark] = 1;
  }
}
