import { once } from 'node:events';
import { PassThrough, Readable } from 'node:stream';
import { BehaviorSubject, lastValueFrom, NEVER, Subject, throwError, toArray } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { fromReadable } from '../../../src/streams/flow/from-readable.ts';

describe('fromReadable', () => {
  it('gives every chunk and completes at the end', async () => {
    const readable = Readable.from(['a', 'b', 'c']);
    expect(await lastValueFrom(fromReadable<string>({ readable, open$: NEVER }).pipe(toArray()))).toEqual(['a', 'b', 'c']);
    expect(readable.listenerCount('data')).toBe(0);
  });

  it('passes an error on', async () => {
    const readable = new PassThrough();
    const read = lastValueFrom(fromReadable({ readable, open$: NEVER }));
    readable.destroy(new Error('torn'));
    await expect(read).rejects.toThrow('torn');
  });

  it('errors when the readable closes before its end', async () => {
    const readable = new PassThrough();
    const read = lastValueFrom(fromReadable({ readable, open$: NEVER }));
    readable.destroy();
    await expect(read).rejects.toThrow('closed before its end');
  });

  it('errors when the demand errors, and does not begin', () => {
    const readable = new PassThrough();
    const errors: unknown[] = [];
    fromReadable({ readable, open$: throwError(() => 'no') }).subscribe({ error: (error) => errors.push(error) });
    expect(errors).toEqual(['no']);
    expect(readable.listenerCount('data')).toBe(0);
  });

  it('reads no more than a buffer ahead of a consumer that is full', async () => {
    let made = 0;
    const readable = new Readable({
      objectMode: true,
      highWaterMark: 4,
      read() {
        this.push(made < 1000 ? made++ : null);
      },
    });
    const open$ = new Subject<boolean>();
    const got: number[] = [];
    const ended = new Promise<void>((resolve) => {
      fromReadable<number>({ readable, open$ }).subscribe({
        next: (n) => {
          got.push(n);
          if (n === 9) open$.next(false);
        },
        complete: resolve,
      });
    });
    await once(readable, 'pause');
    await new Promise(setImmediate);
    expect(got).toHaveLength(10);
    expect(made).toBeLessThanOrEqual(16);
    open$.next(true);
    await ended;
    expect(got).toEqual(Array.from({ length: 1000 }, (_, n) => n));
  });

  it('leaves the readable paused and without its listeners when it is unsubscribed', () => {
    const readable = new PassThrough();
    const open$ = new Subject<boolean>();
    const reading = fromReadable({ readable, open$ }).subscribe();
    reading.unsubscribe();
    expect(readable.isPaused()).toBe(true);
    expect(['data', 'end', 'error', 'close'].map((event) => readable.listenerCount(event))).toEqual([0, 0, 0, 0]);
    expect(open$.observed).toBe(false);
  });

  it('begins paused before a consumer that is full, and asks the readable for a change only', () => {
    const readable = new PassThrough();
    const asked: string[] = [];
    for (const event of ['pause', 'resume'] as const) {
      const ask = readable[event].bind(readable);
      readable[event] = () => {
        asked.push(event);
        return ask();
      };
    }
    const open$ = new BehaviorSubject(false);
    const reading = fromReadable({ readable, open$ }).subscribe();
    expect(readable.isPaused()).toBe(true);
    asked.length = 0;
    for (const isOpen of [false, true, true, false, false]) open$.next(isOpen);
    expect(asked).toEqual(['resume', 'pause']);
    reading.unsubscribe();
  });

  it('begins to read what its owner had paused', async () => {
    const readable = Readable.from(['a']);
    readable.pause();
    expect(await lastValueFrom(fromReadable<string>({ readable, open$: NEVER }))).toBe('a');
  });
});
