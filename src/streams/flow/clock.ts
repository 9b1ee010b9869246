import type { SchedulerAction, SchedulerLike } from 'rxjs';
import { Subscription } from 'rxjs';

/** Where operators get time and turns from. Named here alone, so that one file changes when rxjs takes its own type away. */
export type Scheduler = SchedulerLike;

type Work<T> = (this: SchedulerAction<T>, state: T) => void;

/** A Node timer is no finer than this, and no longer than that. */
const finestTimerMs = 1;
const longestTimerMs = 2 ** 31 - 1;

class MachineAction<T> extends Subscription implements SchedulerAction<T> {
  readonly #work: Work<T>;
  #state: T | undefined;
  #dueMs = 0;
  #timer: NodeJS.Timeout | undefined;
  #turn: NodeJS.Immediate | undefined;

  constructor(work: Work<T>) {
    super();
    this.#work = work;
  }

  schedule(state?: T, delayMs = 0): Subscription {
    if (this.closed) return this;
    this.#disarm();
    this.#state = state;
    if (delayMs > 0) {
      this.#dueMs = performance.now() + delayMs;
      this.#arm(delayMs);
    } else {
      this.#dueMs = 0;
      this.#turn = setImmediate(this.#wake);
    }
    return this;
  }

  override unsubscribe(): void {
    this.#disarm();
    super.unsubscribe();
  }

  readonly #wake = (): void => {
    this.#timer = undefined;
    this.#turn = undefined;
    const leftMs = this.#dueMs === 0 ? 0 : this.#dueMs - performance.now();
    if (leftMs > 0) this.#arm(leftMs);
    else this.#work.call(this, this.#state as T);
  };

  #arm(leftMs: number): void {
    if (leftMs < finestTimerMs) this.#turn = setImmediate(this.#wake);
    // Node counts from the start of the turn, in whole milliseconds: one more, and it never wakes up too early.
    else this.#timer = setTimeout(this.#wake, Math.min(Math.floor(leftMs) + 1, longestTimerMs));
  }

  #disarm(): void {
    if (this.#timer !== undefined) clearTimeout(this.#timer);
    if (this.#turn !== undefined) clearImmediate(this.#turn);
    this.#timer = undefined;
    this.#turn = undefined;
  }
}

/**
 * The machine's time: `now()` is `performance.now()` in fractional milliseconds. Work without delay runs at the end of the tick, after every
 * callback whose input has come already. A delay below a millisecond is kept by turns of the event loop, which cost processor time; a longer one
 * by a timer, up to a millisecond late.
 */
export const machineScheduler: Scheduler = {
  now: () => performance.now(),
  schedule<T>(work: Work<T>, delayMs = 0, state?: T): Subscription {
    return new MachineAction(work).schedule(state, delayMs);
  },
};

/** Milliseconds since 1970. */
export const epochMs = (): number => Date.now();
