import type { SequenceId } from './sequence.ts';

/** Enough to tell those clients that come back at all. */
const keptIds = 4096;

/** Why sequences have ended that their clients did not end: of the last 4,096 ids. */
export class EndedSequences {
  /** The oldest first. */
  readonly #whys = new Map<SequenceId, string>();

  note(id: SequenceId, why: string): void {
    this.#whys.delete(id);
    this.#whys.set(id, why);
    if (this.#whys.size <= keptIds) return;
    for (const oldest of this.#whys.keys()) {
      this.#whys.delete(oldest);
      break;
    }
  }

  why(id: SequenceId): string | undefined {
    return this.#whys.get(id);
  }

  /** The id is in use again. */
  forget(id: SequenceId): void {
    if (this.#whys.size > 0) this.#whys.delete(id);
  }
}
