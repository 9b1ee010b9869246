import type { Subscription } from 'rxjs';
import { sameTimeMs } from './alarm.ts';
import type { Scheduler } from './clock.ts';

/** One timer, set to one time: the last setting counts, and one to the same time leaves it running. */
export class WakeUp {
  readonly #scheduler: Scheduler;
  readonly #onDue: () => void;
  #timer: Subscription | undefined;
  #dueMs = 0;

  constructor(scheduler: Scheduler, onDue: () => void) {
    this.#scheduler = scheduler;
    this.#onDue = onDue;
  }

  /** `dueMs` is `delayMs` from now; Infinity for never. */
  set(dueMs: number, delayMs: number): void {
    if (this.#timer !== undefined && Math.abs(this.#dueMs - dueMs) < sameTimeMs) return;
    this.stop();
    if (dueMs === Number.POSITIVE_INFINITY) return;
    this.#dueMs = dueMs;
    this.#timer = this.#scheduler.schedule(() => {
      this.stop();
      this.#onDue();
    }, delayMs);
  }

  stop(): void {
    this.#timer?.unsubscribe();
    this.#timer = undefined;
  }
}
