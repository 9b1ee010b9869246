import type { OperatorFunction, Subscription } from 'rxjs';
import { NEVER, Observable } from 'rxjs';
import type { Scheduler } from './clock.ts';
import { Hand } from './hand.ts';
import type { Lane, Waiting } from './lane.ts';
import type { Lease } from './leases.ts';
import type { Place } from './waiting-list.ts';
import { WaitingList } from './waiting-list.ts';

/** How many of the waiting items go now, in order; or for how long to wait, unless one comes or goes before. */
export type Plan = { readonly take: number } | { readonly waitMs: number };

/** A batch and the right to run it. Whoever gets it releases the lease. */
export interface Granted<Item, Resource> {
  readonly items: readonly Item[];
  readonly lease: Lease<Resource>;
}

/** `in = out + rejected + withdrawn + forgotten + queued` at every moment. */
export interface BufferCounters {
  in: number;
  out: number;
  rejected: number;
  withdrawn: number;
  forgotten: number;
  queued: number;
}

/** Sums of the same times differ by less. */
const sameTimeMs = 1e-6;

export const noBufferCounters = (): BufferCounters => ({ in: 0, out: 0, rejected: 0, withdrawn: 0, forgotten: 0, queued: 0 });

export interface BufferWhenFreeConfig<Item, Resource> {
  readonly free$: Observable<Lease<Resource>>;
  /** Tells where an item waits, so that it can be withdrawn. */
  readonly onQueued?: (item: Item, place: Place<Item>) => void;
  /** Places whose items are to leave the queue; those that have left it are no concern. */
  readonly withdrawn$?: Observable<Place<Item>>;
  /** Pure; asked only while something waits beside a free resource. */
  readonly plan: (waiting: Waiting<Item>, nowMs: number) => Plan;
  /** How many items may wait at once; at least 1. */
  readonly limit: number;
  readonly scheduler: Scheduler;
  /** Written here, read by anyone. Each subscription needs its own. */
  readonly counters?: BufferCounters;
  /** Called at once with an item that finds `limit` others waiting. */
  readonly onRejected: (item: Item) => void;
  /** Called with each item that still waits when the operator ends early. */
  readonly onForgotten: (item: Item) => void;
}

/**
 * Gathers items while nobody is free to take them and pairs a batch, as planned, with each lease that comes: `bufferCount` and `bufferTime`
 * driven by demand.
 *
 * emits when      the plan takes some and a lease is open: at once when the lease comes, at the end of the tick when an item does
 * waits when      nothing waits, no lease is in hand, or the plan says so
 * rejects         an item that finds `limit` others waiting
 * errors when     the source, `free$` or `withdrawn$` errors, the plan throws or neither takes nor waits, or items wait after `free$` has ended
 * completes when  the source has completed and nothing waits
 * on unsubscribe  forgets what waits, releases the leases in hand
 */
export const bufferWhenFree =
  <Item extends NonNullable<unknown>, Resource>(
    config: BufferWhenFreeConfig<Item, Resource>,
  ): OperatorFunction<Item, Granted<Item, Resource>> =>
  (source) =>
    new Observable((subscriber) => {
      const { scheduler, limit, counters = noBufferCounters() } = config;
      const lane: Lane<Item> = new WaitingList<Item>();
      const hand = new Hand<Resource>();
      /** Decides at the end of the tick. */
      let turn: Subscription | undefined;
      /** Decides when the planned wait is over. */
      let timer: Subscription | undefined;
      let timerDueMs = 0;
      let isDeciding = false;
      let sourceIsDone = false;
      let freeIsDone = false;

      const stopTurn = (): void => {
        turn?.unsubscribe();
        turn = undefined;
      };

      const stopTimer = (): void => {
        timer?.unsubscribe();
        timer = undefined;
      };

      /** The wait of what came first stays the same while more comes: so does its timer. */
      const waitUntil = (dueMs: number, delayMs: number): void => {
        if (timer !== undefined && Math.abs(timerDueMs - dueMs) < sameTimeMs) return;
        stopTimer();
        timerDueMs = dueMs;
        timer = scheduler.schedule(() => {
          stopTimer();
          decide();
        }, delayMs);
      };

      const decideAtTickEnd = (): void => {
        if (turn !== undefined || isDeciding || lane.length === 0 || hand.isEmpty) return;
        turn = scheduler.schedule(() => {
          stopTurn();
          decide();
        }, 0);
      };

      const take = (count: number): readonly Item[] => {
        const items: Item[] = [];
        while (items.length < count) {
          const item = lane.shift();
          if (item === undefined) break;
          items.push(item);
        }
        counters.queued -= items.length;
        counters.out += items.length;
        return items;
      };

      /** The planned batch size; 0 when the plan is to wait, with the timer set. */
      const planned = (): number => {
        const nowMs = scheduler.now();
        const plan = config.plan(lane, nowMs);
        if ('waitMs' in plan) {
          if (!(plan.waitMs > 0)) throw new RangeError(`the plan waits for ${plan.waitMs} ms`);
          waitUntil(nowMs + plan.waitMs, plan.waitMs);
          return 0;
        }
        if (!Number.isInteger(plan.take) || plan.take < 1 || plan.take > lane.length) {
          throw new RangeError(`the plan takes ${plan.take} of ${lane.length} that wait`);
        }
        return plan.take;
      };

      /** Emitting may bring items and leases back here: the loop sees them on its next round. */
      const decide = (): void => {
        if (isDeciding) return;
        isDeciding = true;
        while (!subscriber.closed && lane.length > 0 && !hand.isEmpty) {
          let count = 0;
          try {
            count = planned();
          } catch (error) {
            subscriber.error(error);
          }
          const lease = count === 0 ? undefined : hand.take();
          if (lease === undefined) break;
          subscriber.next({ items: take(count), lease });
        }
        isDeciding = false;
        endWhenDone();
      };

      const endWhenDone = (): void => {
        if (lane.length === 0) {
          stopTurn();
          stopTimer();
          if (sourceIsDone) subscriber.complete();
        } else if (freeIsDone && hand.isEmpty) {
          subscriber.error(new Error(`${lane.length} wait and nobody is left to take them`));
        }
      };

      const arrive = (item: Item): void => {
        counters.in++;
        // What waits only for the end of the tick must not count against the one that comes now.
        if (lane.length >= limit && !hand.isEmpty) decide();
        if (lane.length >= limit) {
          counters.rejected++;
          config.onRejected(item);
          return;
        }
        counters.queued++;
        const place = lane.push(item);
        config.onQueued?.(item, place);
        decideAtTickEnd();
        if (freeIsDone) endWhenDone();
      };

      const withdraw = (place: Place<Item>): void => {
        if (!lane.remove(place)) return;
        counters.queued--;
        counters.withdrawn++;
        if (lane.length === 0) endWhenDone();
        else decideAtTickEnd();
      };

      const onError = (error: unknown): void => subscriber.error(error);

      const freeing = config.free$.subscribe({
        next: (lease) => {
          hand.push(lease);
          decide();
        },
        error: onError,
        complete: () => {
          freeIsDone = true;
          if (!isDeciding) endWhenDone();
        },
      });
      subscriber.add(() => {
        stopTurn();
        stopTimer();
        freeing.unsubscribe();
        hand.releaseAll();
        const forgotten = [...lane];
        lane.clear();
        counters.queued -= forgotten.length;
        counters.forgotten += forgotten.length;
        for (const item of forgotten) config.onForgotten(item);
      });
      if (subscriber.closed) return;
      subscriber.add((config.withdrawn$ ?? NEVER).subscribe({ next: withdraw, error: onError }));
      subscriber.add(
        source.subscribe({
          next: arrive,
          error: onError,
          complete: () => {
            sourceIsDone = true;
            if (!isDeciding) endWhenDone();
          },
        }),
      );
    });
