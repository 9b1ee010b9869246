import { Observable, type Subscription } from 'rxjs';
import type { Scheduler } from './clock.ts';
import type { Demand } from './demand.ts';

export interface ProduceConfig<T> {
  readonly count: number;
  /** The item with that index, from 0. */
  readonly make: (index: number) => T;
  /** Before that item, after the one before it; 0 for none. */
  readonly delayMs: (index: number) => number;
  /** Undefined for always open. */
  readonly demand: Demand | undefined;
  readonly scheduler: Scheduler;
}

/** Items without delay that follow each other before others have their turn. */
const longestBurst = 32;

/**
 * Makes items one after another, each when it is wanted.
 *
 * emits when      the delay before the item is over and `demand` is open
 * waits when      `demand` is closed; no more than 32 follow each other in one turn of the event loop
 * errors when     `make` or `delayMs` throws
 * completes when  `count` items are out
 * on unsubscribe  makes no more
 */
export const produce = <T>({ count, make, delayMs, demand, scheduler }: ProduceConfig<T>): Observable<T> =>
  new Observable((subscriber) => {
    let index = 0;
    let isDue = false;
    let isLooping = false;
    let waiting: Subscription | undefined;

    const wait = (ms: number): void => {
      waiting = scheduler.schedule(() => {
        waiting = undefined;
        isDue = true;
        goOn();
      }, ms);
    };

    /** False when the next one has to wait, or there is none. */
    const emitOne = (burst: number): boolean => {
      if (index === count) {
        subscriber.complete();
        return false;
      }
      if (!isDue) {
        const ms = delayMs(index);
        if (ms > 0 || burst === longestBurst) {
          wait(ms);
          return false;
        }
        isDue = true;
      }
      if (demand !== undefined && !demand.isOpen) return false;
      isDue = false;
      subscriber.next(make(index++));
      return true;
    };

    /** An emission may open the demand, or end it all: the loop that runs already sees it. */
    const goOn = (): void => {
      if (isLooping || waiting !== undefined) return;
      isLooping = true;
      try {
        for (let burst = 0; !subscriber.closed && emitOne(burst); burst++);
      } catch (error) {
        subscriber.error(error);
      }
      isLooping = false;
    };

    subscriber.add(() => {
      waiting?.unsubscribe();
      if (demand?.onOpen === goOn) demand.onOpen = undefined;
    });
    if (demand !== undefined) demand.onOpen = goOn;
    goOn();
  });
