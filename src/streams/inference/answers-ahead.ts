import type { Demand } from '../flow/demand.ts';

/**
 * Answers, or their bytes, that who calls a model has not read: from there on the called model waits where it can. Many, since a caller may make several
 * calls of one model, which answers them in turn, and read their answers in another order.
 */
const mostAnswers = 16_384;
const mostBytes = 64 * 2 ** 20;

/** How far the model that a call asks is ahead of who reads its answers. */
export class AnswersAhead implements Demand {
  onOpen: (() => void) | undefined;
  #answers = 0;
  #bytes = 0;

  get isOpen(): boolean {
    return this.#answers < mostAnswers && this.#bytes < mostBytes;
  }

  /** Twice as far as one that can wait ever is. */
  get isTooFar(): boolean {
    return this.#answers >= 2 * mostAnswers || this.#bytes >= 2 * mostBytes;
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
