import type { Contender, Grant } from '../../streams/flow/share-permits.ts';

/** An instance as the rate limiter sees it. */
export interface Seat extends Contender {
  /** 2 gets half the turns of 1; at least 1. */
  readonly priority: number;
}

const turnOf = ({ turns, priority }: Seat): number => turns * priority;

const needsNothing = ({ shares }: Seat): boolean => shares.length === 0;

const fits = ({ shares }: Seat): boolean => shares.every(({ pool, count }) => pool.used + count <= pool.limit);

/** By the lower turn; of equals one that finds what it needs. */
const isBefore = (a: Seat, b: Seat): boolean => turnOf(a) < turnOf(b) || (turnOf(a) === turnOf(b) && fits(a) && !fits(b));

const firstOf = (seats: readonly Seat[]): number =>
  seats.reduce((first, seat, index) => (isBefore(seat, seats[first] ?? seat) ? index : first), 0);

/**
 * Who may run next, of the models that have a batch ready, each with its free instances. Triton's rule: each model stands for the instance with the
 * lowest executions × priority, and only the lowest of those is tried, even if others would find what they need. Beyond it, an instance that
 * needs nothing shared waits for nobody: what holds a resource may call a model that needs none.
 */
export const planGrants = (waiting: readonly (readonly Seat[])[]): Grant | undefined => {
  let first: Grant | undefined;
  let firstSeat: Seat | undefined;
  let free: Grant | undefined;
  for (const [question, seats] of waiting.entries()) {
    const candidate = firstOf(seats);
    const seat = seats[candidate];
    if (seat === undefined) continue;
    const without = seats.findIndex(needsNothing);
    if (without >= 0) free ??= { question, candidate: without };
    if (firstSeat !== undefined && !isBefore(seat, firstSeat)) continue;
    first = { question, candidate };
    firstSeat = seat;
  }
  return firstSeat !== undefined && fits(firstSeat) ? first : free;
};
