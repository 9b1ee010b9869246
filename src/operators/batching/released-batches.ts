import { type Place, WaitingList } from '../../streams/flow/waiting-list.ts';

/** A batch that goes on though its instance may take another one. */
export interface Releasable {
  /** Where it waits, or did. */
  releasePlace: Place<Releasable> | undefined;
  /** Gives its instance back, now. */
  release(): void;
}

/**
 * Bounds the batches of a model that go on after their instances have been given back, since these have no queue to wait in. Past the bound a batch
 * keeps its instance until one of them ends.
 */
export class ReleasedBatches {
  readonly #limit: number;
  readonly #waiting = new WaitingList<Releasable>();
  #released = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Called once for a batch, which then leaves when it has ended. */
  ask(batch: Releasable): void {
    if (this.#released < this.#limit) this.#let(batch);
    else batch.releasePlace = this.#waiting.push(batch);
  }

  /** One that has asked has ended. */
  leave({ releasePlace }: Releasable): void {
    // It kept its instance to the end.
    if (releasePlace !== undefined && this.#waiting.remove(releasePlace)) return;
    this.#released--;
    const next = this.#waiting.shift();
    if (next !== undefined) this.#let(next);
  }

  #let(batch: Releasable): void {
    this.#released++;
    batch.release();
  }
}
