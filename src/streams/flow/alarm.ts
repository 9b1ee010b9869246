import type { Subscription } from 'rxjs';
import type { Scheduler } from './clock.ts';

/** Sums of the same times differ by less. */
export const sameTimeMs = 1e-6;

/** One timer for many due times: it rings at the earliest that it was set for, and stays quiet until it is set again. Early at worst, never late. */
export class Alarm {
  readonly #scheduler: Scheduler;
  readonly #onRing: (nowMs: number) => void;
  #timer: Subscription | undefined;
  #dueMs = Number.POSITIVE_INFINITY;

  constructor(scheduler: Scheduler, onRing: (nowMs: number) => void) {
    this.#scheduler = scheduler;
    this.#onRing = onRing;
  }

  /** Infinity sets nothing. */
  setFor(dueMs: number): void {
    if (dueMs >= this.#dueMs - sameTimeMs) return;
    this.#timer?.unsubscribe();
    this.#dueMs = dueMs;
    this.#timer = this.#scheduler.schedule(
      () => {
        this.stop();
        this.#onRing(this.#scheduler.now());
      },
      Math.max(0, dueMs - this.#scheduler.now()),
    );
  }

  stop(): void {
    this.#timer?.unsubscribe();
    this.#timer = undefined;
    this.#dueMs = Number.POSITIVE_INFINITY;
  }
}
