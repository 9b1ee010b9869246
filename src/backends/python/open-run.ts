import type { Subscriber } from 'rxjs';
import type { Batch, Part } from '../../streams/inference/backend.ts';
import type { WrittenBatch } from './write-batch.ts';

/** A batch that the process has, or waits for its turn to be given to it. */
export class OpenRun {
  readonly batch: Batch;
  readonly subscriber: Subscriber<Part>;
  /** By request: its last answer has come. */
  readonly #isEnded: boolean[];
  #open: number;
  #written: WrittenBatch | undefined;
  /** Requests whose callers went before the process had the batch. */
  readonly #gone: number[] = [];
  /** By which the process knows it; 0 until it has it. */
  id = 0;
  /** The model's code has returned: the process can take another batch. */
  isExecuted = false;

  constructor(batch: Batch, subscriber: Subscriber<Part>) {
    this.batch = batch;
    this.subscriber = subscriber;
    this.#isEnded = batch.requests.map(() => false);
    this.#open = batch.requests.length;
  }

  get hasEnded(): boolean {
    return this.isExecuted && this.#open === 0;
  }

  isOpen(of: number): boolean {
    return this.#isEnded[of] === false;
  }

  /** The request gets no more answers. */
  end(of: number): void {
    if (this.#isEnded[of] !== false) return;
    this.#isEnded[of] = true;
    this.#open--;
  }

  begin(id: number, written: WrittenBatch): void {
    this.id = id;
    this.#written = written;
    for (const of of this.#gone) this.markCancelled(of);
  }

  /** Lets the model see that nobody waits for the answer to a request. */
  markCancelled(of: number): void {
    // Its block may be another batch's once all of it has been answered.
    if (!this.isOpen(of)) return;
    const mark = this.#written?.marks[of];
    const buffer = this.#written?.block.segment.memory.buffer;
    if (mark === undefined || buffer === undefined) this.#gone.push(of);
    else buffer[mark] = 1;
  }

  markAllCancelled(): void {
    for (let of = 0; of < this.#isEnded.length; of++) this.markCancelled(of);
  }
}
