import type { Place } from '../../streams/flow/waiting-list.ts';
import { WaitingList } from '../../streams/flow/waiting-list.ts';

/** Requests of one step; `in = out + failed + queued + running` at every moment. */
export interface StepCounters {
  in: number;
  out: number;
  failed: number;
  queued: number;
  running: number;
}

/** Lets at most so many requests of one step run at once, and the others wait in order of arrival. */
export class StepDesk<Asked extends NonNullable<unknown>> {
  readonly counters: StepCounters = { in: 0, out: 0, failed: 0, queued: 0, running: 0 };
  /** Of those that run; 0 for any number. */
  readonly #limit: number;
  readonly #waiting = new WaitingList<Asked>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Undefined when it may run at once; else where it waits. */
  enter(asked: Asked): Place<Asked> | undefined {
    const { counters } = this;
    counters.in++;
    if (this.#limit === 0 || counters.running < this.#limit) {
      counters.running++;
      return undefined;
    }
    counters.queued++;
    return this.#waiting.push(asked);
  }

  /** One that waited goes away. */
  withdraw(place: Place<Asked>): void {
    if (!this.#waiting.remove(place)) return;
    this.counters.queued--;
    this.counters.failed++;
  }

  /** One that ran has ended. Returns the one that runs in its place, if any waits. */
  leave(as: 'out' | 'failed'): Asked | undefined {
    const { counters } = this;
    counters.running--;
    counters[as]++;
    const next = this.#waiting.shift();
    if (next === undefined) return undefined;
    counters.queued--;
    counters.running++;
    return next;
  }
}
