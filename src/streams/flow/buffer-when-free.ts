import type { OperatorFunction, Subscription } from 'rxjs';
import { NEVER, Observable } from 'rxjs';
import { Alarm } from './alarm.ts';
import { ArrivalLane } from './arrival-lane.ts';
import type { Scheduler } from './clock.ts';
import { Hand } from './hand.ts';
import type { Lane, Waiting } from './lane.ts';
import type { Lease } from './leases.ts';
import type { Permits } from './permits.ts';
import type { Turnstile } from './turnstile.ts';
import { TurnstileHand } from './turnstile-hand.ts';
import type { Place } from './waiting-list.ts';
import { WakeUp } from './wake-up.ts';

/** How many of the waiting items go now, in order; or for how long to wait, unless one comes or goes before: Infinity for until then. */
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

/** A deadline has passed only after it: by about a microsecond, so chosen that sums of binary fractions stay exact. */
const pastMs = 2 ** -10;

export const noBufferCounters = (): BufferCounters => ({ in: 0, out: 0, rejected: 0, withdrawn: 0, forgotten: 0, queued: 0 });

export interface BufferWhenFreeConfig<Item, Resource> {
  readonly free$: Observable<Lease<Resource>>;
  /** Tells where an item waits, so that it can be withdrawn. */
  readonly onQueued?: (item: Item, place: Place<Item>) => void;
  /** Places whose items are to leave the queue; those that have left it are no concern. */
  readonly withdrawn$?: Observable<Place<Item>>;
  /** Decides at once what would be decided at the end of the tick. */
  readonly hurry$?: Observable<void>;
  /** Makes the queue, for one subscription; unless given, items leave in order of arrival and wait as long as they must. */
  readonly lane?: (() => Lane<Item>) | undefined;
  /** Has to let a lease through before it is used; unless given, each may be used as it comes. */
  readonly turnstile?: Turnstile<Resource> | undefined;
  /** Pure; asked only while something waits beside a free resource. */
  readonly plan: (waiting: Waiting<Item>, nowMs: number) => Plan;
  /** How many items may wait at once; at least 1. */
  readonly limit: number;
  readonly scheduler: Scheduler;
  /** Written here, read by anyone. Each subscription needs its own. */
  readonly counters?: BufferCounters;
  /** Called at once with an item that finds `limit` others waiting, or its lane full. */
  readonly onRejected: (item: Item) => void;
  /** Called when an item's time is up, also while nobody is free; it counts as rejected. */
  readonly onExpired?: ((item: Item) => void) | undefined;
  /** Called with each item that still waits when the operator ends early. */
  readonly onForgotten: (item: Item) => void;
}

/**
 * Gathers items while nobody is free to take them and pairs a batch, as planned, with each lease that comes: `bufferCount` and `bufferTime`
 * driven by demand.
 *
 * emits when      the plan takes some and a lease is open: at once when the lease comes, at the end of the tick when an item does
 * waits when      nothing waits, no lease is in hand, the plan says so, or the turnstile lets nothing through
 * rejects         an item that finds `limit` others waiting or its lane full, and an item whose time is up, when it is
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
      const { scheduler, limit, counters = noBufferCounters(), turnstile, onExpired = config.onRejected } = config;
      const lane: Lane<Item> = config.lane?.() ?? new ArrivalLane<Item>();
      const permits: Permits<Resource> = turnstile === undefined ? new Hand() : new TurnstileHand(turnstile, () => decide());
      /** Decides at the end of the tick. */
      let turn: Subscription | undefined;
      /** Decides when the planned wait is over: that of what came first stays the same while more comes. */
      const wait = new WakeUp(scheduler, () => decide());
      /** May ring for an item that has left. */
      const deadline = new Alarm(scheduler, () => settle());
      let isDeciding = false;
      let isExpiring = false;
      let sourceIsDone = false;
      let freeIsDone = false;

      const stopTurn = (): void => {
        turn?.unsubscribe();
        turn = undefined;
      };

      const decideAtTickEnd = (): void => {
        if (turn !== undefined || isDeciding || permits.isEmpty) return;
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

      /** The planned batch size; 0 when the plan is to wait, with the alarm set. */
      const planned = (nowMs: number): number => {
        const plan = config.plan(lane, nowMs);
        if ('waitMs' in plan) {
          if (!(plan.waitMs > 0)) throw new RangeError(`the plan waits for ${plan.waitMs} ms`);
          wait.set(nowMs + plan.waitMs, plan.waitMs);
          return 0;
        }
        if (!Number.isInteger(plan.take) || plan.take < 1 || plan.take > lane.length) {
          throw new RangeError(`the plan takes ${plan.take} of ${lane.length} that wait`);
        }
        return plan.take;
      };

      /** Whoever hears of it may come back here with another item. */
      const expire = (nowMs: number): void => {
        if (isExpiring || lane.nextDeadlineMs >= nowMs) return;
        isExpiring = true;
        for (let item = lane.expire(nowMs); item !== undefined; item = lane.expire(nowMs)) {
          counters.queued--;
          counters.rejected++;
          onExpired(item);
        }
        isExpiring = false;
      };

      /** One batch on its way; false when there is none for now. */
      const sendOne = (): boolean => {
        const nowMs = scheduler.now();
        expire(nowMs);
        if (subscriber.closed || lane.length === 0) return false;
        let count = 0;
        try {
          count = planned(nowMs);
        } catch (error) {
          subscriber.error(error);
          return false;
        }
        if (count === 0) {
          permits.rest();
          return false;
        }
        const lease = permits.take();
        if (lease === undefined) return false;
        subscriber.next({ items: take(count), lease });
        return true;
      };

      /** Emitting may bring items and leases back here: the loop sees them on its next round. */
      const decide = (): void => {
        // Not among items of which some are late.
        if (isDeciding || isExpiring) return;
        isDeciding = true;
        while (!subscriber.closed && lane.length > 0 && !permits.isEmpty && sendOne());
        isDeciding = false;
        endWhenDone();
      };

      /** After this nothing waits that is late, nor anything that can go. */
      const settle = (): void => {
        expire(scheduler.now());
        decide();
        if (!subscriber.closed) deadline.setFor(lane.nextDeadlineMs + pastMs);
      };

      const endWhenDone = (): void => {
        if (lane.length === 0) {
          stopTurn();
          wait.stop();
          permits.rest();
          if (sourceIsDone) subscriber.complete();
        } else if (freeIsDone && permits.isEmpty) {
          subscriber.error(new Error(`${lane.length} wait and nobody is left to take them`));
        }
      };

      const isFull = (item: Item): boolean => lane.length >= limit || lane.isFull(item);

      const arrive = (item: Item): void => {
        counters.in++;
        // What waits only for the end of the tick, or is late, must not count against the one that comes now.
        if (isFull(item)) settle();
        if (isFull(item) || subscriber.closed) {
          counters.rejected++;
          config.onRejected(item);
          return;
        }
        counters.queued++;
        const place = lane.push(item);
        deadline.setFor(lane.nextDeadlineMs + pastMs);
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
          permits.push(lease);
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
        wait.stop();
        deadline.stop();
        freeing.unsubscribe();
        permits.releaseAll();
        const forgotten = [...lane];
        lane.clear();
        counters.queued -= forgotten.length;
        counters.forgotten += forgotten.length;
        for (const item of forgotten) config.onForgotten(item);
      });
      if (subscriber.closed) return;
      subscriber.add((config.withdrawn$ ?? NEVER).subscribe({ next: withdraw, error: onError }));
      subscriber.add((config.hurry$ ?? NEVER).subscribe(() => decide()));
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
