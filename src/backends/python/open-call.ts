import type { Subscription } from 'rxjs';
import type { Demand } from '../../streams/flow/demand.ts';
import { type Frame, frameFlags } from './frames.ts';

/**
 * Answers of one call, or their bytes, that the model has not taken: from there on the called model waits where it can. Many, since a model may make
 * several calls of one that answers them in turn, and take the answers in another order.
 */
const mostAhead = 16_384;
const mostBytesAhead = 64 * 2 ** 20;

/** As `ModelCall.encode` of `stub/weir_stub/calls.py` writes it. */
export interface CallHead {
  readonly model: string;
  readonly version: number;
  readonly id: string;
  readonly correlation: string;
  readonly isText: boolean;
  readonly flags: number;
  readonly timeout: string;
  readonly parameters: string;
  readonly outputs: readonly string[];
  /** Name, number of the datatype, shape, segment of this server's memory + 1 or 0, offset, bytes. */
  readonly inputs: readonly (readonly [string, number, readonly number[], number, number, number])[];
  readonly batch: number;
}

/** A request that a model's process makes of another model, and how far that is ahead with its answers. */
export class OpenCall implements Demand {
  readonly id: number;
  readonly batch: number;
  readonly model: string;
  /** Of the process's memory: the inputs lie there until the call has ended. */
  readonly block: number;
  readonly length: number;
  readonly isDecoupled: boolean;
  subscription: Subscription | undefined;
  onOpen: (() => void) | undefined;
  isOver = false;
  answers = 0;
  #ahead = 0;
  #bytesAhead = 0;

  constructor({ id, flags, block, length }: Frame, { batch, model }: CallHead) {
    this.id = id;
    this.batch = batch;
    this.model = model;
    this.block = block;
    this.length = length;
    this.isDecoupled = (flags & frameFlags.isDecoupled) !== 0;
  }

  get isOpen(): boolean {
    return this.isOver || (this.#ahead < mostAhead && this.#bytesAhead < mostBytesAhead);
  }

  give(bytes: number): void {
    this.#ahead++;
    this.#bytesAhead += bytes;
  }

  take(answers: number, bytes: number): void {
    const wasOpen = this.isOpen;
    this.#ahead -= answers;
    this.#bytesAhead -= bytes;
    if (!wasOpen && this.isOpen) this.onOpen?.();
  }
}
