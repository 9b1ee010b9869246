import type { SchedulerAction, SchedulerLike } from 'rxjs';
import { Subscription } from 'rxjs';

/** Where operators get time and turns from. Named here alone, so that one file changes when rxjs takes its own type away. */
export type Scheduler = SchedulerLike;

type Work<T> = (this: SchedulerAction<T>, state: T) => void;

/** Node's timers count whole milliseconds. A wait below this is kept by turns of the event loop instead, which cost processor time. */
const shortestTimedMs = 0.5;
const longestTimerMs = 2 ** 31 - 1;

class MachineAction<T> extends Subscription implements SchedulerAction<T> {
  readonly #work: Work<T>;
  #state: T | undefined;
  #dueMs = 0;
  #isTimed = false;
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
      this.#isTimed = delayMs >= shortestTimedMs;
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
    // Node counts from the start of the turn, so a timer may wake up too early; then another follows.
    if (this.#isTimed) this.#timer = setTimeout(this.#wake, Math.min(leftMs, longestTimerMs));
    else this.#turn = setImmediate(this.#wake);
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
 * callback whose input has come already. A delay below half a millisecond is kept by turns of the event loop, which cost processor time; a longer
 * one by a timer. Work never runs early, and after a timer up to a millisecond late.
 */
export const machineScheduler: Scheduler = {
  now: () => performance.now(),
  schedule<T>(work: Work<T>, delayMs = 0, state?: T): Subscription {
    return new MachineAction(work).schedule(state, delayMs);
  },
};

/** Milliseconds since 1970. */
export const epochMs = (): number => Date.now();
