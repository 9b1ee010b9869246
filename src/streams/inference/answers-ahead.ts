import type { Demand } from '../flow/demand.ts';

/**
 * Answers, or their bytes, that who calls a model has not read: from there on the called model waits where it can. Many, since a caller may make several
 * calls of one model, which answers them in turn, and read their answers in another order.
 */
const mostAnswers = 16_384;
const mostBytes = 64 * 2 ** 20;

/** Twice as far as a model that can wait ever is. */
export const refusedAhead = { answers: 2 * mostAnswers, bytes: 2 * mostBytes } as const;

/** How far the model that a call asks is ahead of who reads its answers. */
export class AnswersAhead implements Demand {
  onOpen: (() => void) | undefined;
  #answers = 0;
  #bytes = 0;

  get isOpen(): boolean {
    return this.#answers < mostAnswers && this.#bytes < mostBytes;
  }

  /** As far as `refusedAhead`. */
  get isTooFar(): boolean {
    return this.#answers >= refusedAhead.answers || this.#bytes >= refusedAhead.bytes;
  }

  /** An answer of so many bytes goes to the caller. */
  give(bytes: number): void {
    this.#answers++;
    this.#bytes += bytes;
  }

  /** So many have been read. */
  take(answers: number, bytes: number): void {
    const wasOpen = this.isOpen;
    this.#answers -= answers;
    this.#bytes -= bytes;
    if (!wasOpen && this.isOpen) this.onOpen?.();
  }
}
