import { defer, Observable, timer } from 'rxjs';
import type { Scheduler } from './clock.ts';

export interface RestartConfig<T> {
  /** One life of the resource: emits it when it is ready, errors or completes when it has ended. */
  readonly open: () => Observable<T>;
  /** Before the next attempt, after so many failures in a row: 1 for the first. */
  readonly pauseMs: (failures: number) => number;
  readonly scheduler: Scheduler;
}

/**
 * Keeps a resource alive. Failures count as in a row until a life has been up for longer than the pause that its end would bring.
 *
 * emits when      a life begins: an Observable of that life, to be subscribed once
 * waits when      the last life has ended, after it or an earlier one was up: for `pauseMs`
 * errors when     the resource ends before it was ever up
 * completes       never
 * on unsubscribe  ends the life that runs and opens no other
 */
export const restart = <T>({ open, pauseMs, scheduler }: RestartConfig<T>): Observable<Observable<T>> =>
  new Observable((subscriber) => {
    let failures = 0;
    let wasEverUp = false;

    const begin = (): void => subscriber.next(life$);

    const onEnded = (error: unknown, upForMs: number): void => {
      if (!wasEverUp) subscriber.error(error);
      if (subscriber.closed) return;
      if (upForMs > pauseMs(failures + 1)) failures = 0;
      failures++;
      subscriber.add(timer(pauseMs(failures), scheduler).subscribe(begin));
    };

    const life$ = new Observable<T>((life) => {
      let upSinceMs: number | undefined;
      const upForMs = (): number => (upSinceMs === undefined ? 0 : scheduler.now() - upSinceMs);
      const running = defer(open).subscribe({
        next: (resource) => {
          wasEverUp = true;
          upSinceMs ??= scheduler.now();
          life.next(resource);
        },
        error: (error) => {
          life.error(error);
          onEnded(error, upForMs());
        },
        complete: () => {
          life.complete();
          onEnded(new Error('ended before it was ready'), upForMs());
        },
      });
      life.add(running);
      subscriber.add(running);
    });

    begin();
  });
