import { firstValueFrom, Observable, of, throwError } from 'rxjs';
import { expect, it } from 'vitest';
import { onlyAnswer } from '../../src/server/only-answer.ts';

it('lets the one answer through when the request has ended', async () => {
  expect(await firstValueFrom(of(7).pipe(onlyAnswer('m')))).toBe(7);
});

it('waits for the end of the request', () => {
  const seen: number[] = [];
  const request = new Observable<number>((subscriber) => subscriber.next(1)).pipe(onlyAnswer('m')).subscribe((value) => seen.push(value));
  expect(seen).toEqual([]);
  request.unsubscribe();
});

it.each([
  ['no answer', of<number>(), "model 'm' gave no answer"],
  ['two answers', of(1, 2), "model 'm' gave more than one answer"],
  ['an error', throwError(() => new Error('its own')), 'its own'],
])('fails for %s', async (_what, source, message) => {
  await expect(firstValueFrom(source.pipe(onlyAnswer('m')))).rejects.toThrow(message);
});

it('cancels a request that gives a second answer', () => {
  let cancelled = 0;
  const endless = new Observable<number>((subscriber) => {
    subscriber.next(1);
    queueMicrotask(() => subscriber.next(2));
    return () => cancelled++;
  });
  return new Promise<void>((resolve) => {
    endless.pipe(onlyAnswer('m')).subscribe({
      error: () =>
        queueMicrotask(() => {
          expect(cancelled).toBe(1);
          resolve();
        }),
    });
  });
});

it('cancels the request with it', () => {
  let cancelled = 0;
  const request = new Observable<number>(() => () => cancelled++).pipe(onlyAnswer('m')).subscribe();
  request.unsubscribe();
  expect(cancelled).toBe(1);
});
