import type { Readable } from 'node:stream';
import type { Subscription } from 'rxjs';
import type { Scheduler } from '../../streams/flow/clock.ts';

/** What was taken in less needs no pause. */
const shortMs = 1;
/** Times as long as it took to take a piece, the next one is left where it is. */
const restTimes = 9;
const longestRestMs = 1000;

/**
 * Reads what a process prints, with at most a tenth of this thread's time: one that prints without end waits at its pipe, and so takes nothing from
 * the requests of others. The function that it gives lifts that, for what is left of a process that has ended.
 */
export const readGently = (stream: Readable, take: (chunk: Buffer) => void, scheduler: Scheduler): (() => void) => {
  let isGentle = true;
  let rest: Subscription | undefined;
  stream.on('data', (chunk: Buffer) => {
    const beganMs = scheduler.now();
    take(chunk);
    const tookMs = scheduler.now() - beganMs;
    if (!isGentle || tookMs < shortMs) return;
    stream.pause();
    rest = scheduler.schedule(() => stream.resume(), Math.min(restTimes * tookMs, longestRestMs));
  });
  return () => {
    isGentle = false;
    rest?.unsubscribe();
    stream.resume();
  };
};
