import type { Frame } from './frames.ts';
import type { ProcessMemory } from './process-memory.ts';

/** A block of the process with answers, which it may use again when all of them have been handed on. */
export class AnswerBlock {
  readonly #memory: ProcessMemory;
  readonly #block: number;
  readonly length: number;
  /** Who still reads it: whoever made it, and answers that wait. */
  #readers = 1;

  constructor(memory: ProcessMemory, { block, length }: Frame) {
    this.#memory = memory;
    this.#block = block;
    this.length = length;
  }

  keep(): void {
    this.#readers++;
  }

  letGo(): void {
    this.#readers--;
    if (this.#readers === 0) this.#memory.hasRead(this.#block, this.length);
  }
}
