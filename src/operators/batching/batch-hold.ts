import type { Granted } from '../../streams/flow/buffer-when-free.ts';
import type { Place } from '../../streams/flow/waiting-list.ts';
import type { Instance } from '../../streams/inference/backend.ts';
import type { Call } from '../call.ts';
import type { Step } from '../step.ts';
import type { Releasable, ReleasedBatches } from './released-batches.ts';

/** The same for all batches of a model. */
export interface BatchHoldConfig {
  /** Of batches; see `RunCounters`. */
  readonly counters: { batches: number; released: number };
  readonly releases: ReleasedBatches;
}

/**
 * What a batch keeps from others while it runs: its instance, and the sequences of its requests. Both go at its end at the latest. An instance that takes
 * another batch before that is lent again at once, and sequences go on whose requests leave nothing behind.
 */
export class BatchHold implements Releasable {
  releasePlace: Place<Releasable> | undefined;
  readonly #config: BatchHoldConfig;
  readonly #granted: Granted<Call, Instance>;
  #hasAsked = false;
  #hasInstance = true;
  #hasSteps: boolean;
  #isOver = false;

  constructor(config: BatchHoldConfig, granted: Granted<Call, Instance>) {
    this.#config = config;
    this.#granted = granted;
    this.#hasSteps = granted.items.some(({ step }) => step !== undefined);
    config.counters.batches++;
  }

  /** Requests of sequences are among them whose next ones need what this batch leaves behind. */
  get mustFinish(): boolean {
    return this.#hasSteps;
  }

  /** The instance takes another batch while this one goes on. */
  askToRelease(): void {
    if (this.#isOver || this.#hasAsked) return;
    this.#hasAsked = true;
    this.#config.releases.ask(this);
  }

  /** Who gets what is given back may come here again. */
  release(): void {
    const { counters } = this.#config;
    this.#hasInstance = false;
    counters.batches--;
    counters.released++;
    this.#endSteps(({ mayEndEarly }) => mayEndEarly);
    this.#granted.lease.release();
  }

  /** The batch runs no more: gives back what it still has. Called once. */
  end(): void {
    const { counters, releases } = this.#config;
    const hasInstance = this.#hasInstance;
    this.#isOver = true;
    if (hasInstance) counters.batches--;
    else counters.released--;
    this.#endSteps(() => true);
    if (hasInstance) this.#granted.lease.release();
    if (this.#hasAsked) releases.leave(this);
  }

  /** The steps of one batch are all alike. */
  #endSteps(may: (step: Step) => boolean): void {
    const { items } = this.#granted;
    if (!this.#hasSteps || !items.every(({ step }) => step === undefined || may(step))) return;
    this.#hasSteps = false;
    for (const { step } of items) step?.released();
  }
}
