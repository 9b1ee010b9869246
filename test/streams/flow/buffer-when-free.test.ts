import type { Observable } from 'rxjs';
import { defer, from, map, of, Subject, throwError } from 'rxjs';
import { describe, expect, it, vi } from 'vitest';
import type { BufferWhenFreeConfig, Granted, Plan } from '../../../src/streams/flow/buffer-when-free.ts';
import { bufferWhenFree, noBufferCounters } from '../../../src/streams/flow/buffer-when-free.ts';
import type { Waiting } from '../../../src/streams/flow/lane.ts';
import type { Lease } from '../../../src/streams/flow/leases.ts';
import { leases } from '../../../src/streams/flow/leases.ts';
import { PriorityLane } from '../../../src/streams/flow/priority-lane.ts';
import type { Turnstile } from '../../../src/streams/flow/turnstile.ts';
import { operatorLaws } from '../../contracts/operator-laws.ts';
import { makeLease, withdrawing } from '../../support/flow.ts';
import { marbles } from '../../support/marbles.ts';
import { living } from '../../support/model.ts';
import { Supply } from '../../support/supply.ts';
import { VirtualTime } from '../../support/virtual-time.ts';

type Config = BufferWhenFreeConfig<string, string>;

const takeAll = (waiting: Waiting<string>): Plan => ({ take: waiting.length });
const takeUpTo =
  (size: number) =>
  (waiting: Waiting<string>): Plan => ({ take: Math.min(size, waiting.length) });

const text = map(({ items }: Granted<string, string>) => items.join(''));

const atOnce: Turnstile<string> = {
  ask: (candidates, onGranted) => {
    for (const lease of candidates.slice(0, 1)) onGranted(lease);
    return () => {};
  },
};

const patient = (): PriorityLane<string> =>
  new PriorityLane({ levelOf: () => 0n, ruleOf: () => ({ limit: 30_000, whenDue: 'reject', deadlineMs: () => 1e9 }) });

const variants: readonly [name: string, Pick<Config, 'lane' | 'turnstile'>][] = [
  ['bufferWhenFree', {}],
  ['bufferWhenFree with a lane', { lane: patient }],
  ['bufferWhenFree with a turnstile', { turnstile: atOnce }],
];

for (const [name, variant] of variants)
  operatorLaws({
    name,
    limit: 100,
    create: (scheduler, limit) => {
      const supply = new Supply('r');
      const lost: string[] = [];
      return {
        operator: bufferWhenFree<string, string>({
          free$: supply.free$,
          ...variant,
          plan: () => ({ take: 1 }),
          limit,
          scheduler,
          onRejected: (item) => lost.push(item),
          onForgotten: (item) => lost.push(item),
        }),
        item: (n) => `${n}`,
        numbersOf: (batch: Granted<string, string>) => {
          supply.handOver();
          return batch.items.map(Number);
        },
        out: [],
        get lost() {
          return lost.map(Number);
        },
        serve: (count) => supply.add(count),
        held: () => supply.held,
      };
    },
  });

describe('bufferWhenFree', () => {
  const batches = (config: Partial<Config> & Pick<Config, 'free$' | 'scheduler'>) =>
    bufferWhenFree<string, string>({ plan: takeAll, limit: 100, onRejected: () => {}, onForgotten: () => {}, ...config });

  const freeing = (free$: Observable<string>): Observable<Lease<string>> => free$.pipe(map((resource) => makeLease(resource)));

  it(
    'lets a batch grow while nobody is free',
    marbles(({ hot, expectObservable, scheduler }) => {
      const items = hot(' -a-b-c-d-e-|');
      const free = hot('  x----y----z-');
      const expected = '  -1---2----3|';
      const values = { 1: 'a', 2: 'bc', 3: 'de' };
      expectObservable(items.pipe(batches({ free$: freeing(free), scheduler }), text)).toBe(expected, values);
    }),
  );

  it(
    'takes what comes in one tick together',
    marbles(({ hot, expectObservable, scheduler }) => {
      const items = hot(' --(abc)--d-|');
      const free = hot('  x----y------');
      const expected = '  --1------2-|';
      expectObservable(items.pipe(batches({ free$: freeing(free), scheduler }), text)).toBe(expected, { 1: 'abc', 2: 'd' });
    }),
  );

  it(
    'waits as planned beside a free resource, and asks again when an item comes',
    marbles(({ hot, expectObservable, scheduler }) => {
      const items = hot(' -a-b--------c|');
      const free = hot('  x----------y--');
      const expected = '  ------1-----2|';
      // Until 6, unless it is later.
      const plan = (waiting: Waiting<string>, nowMs: number): Plan => (nowMs < 6 ? { waitMs: 6 - nowMs } : { take: waiting.length });
      expectObservable(items.pipe(batches({ free$: freeing(free), plan, scheduler }), text)).toBe(expected, { 1: 'ab', 2: 'c' });
    }),
  );

  it(
    'gives several batches while several are free, and the rest later',
    marbles(({ hot, expectObservable, scheduler }) => {
      const items = hot(' -(abcde)|');
      const free = hot('  (xy)------z-');
      const expected = '  -(12)-----(3|)';
      const values = { 1: 'ab', 2: 'cd', 3: 'e' };
      expectObservable(items.pipe(batches({ free$: freeing(free), plan: takeUpTo(2), scheduler }), text)).toBe(expected, values);
    }),
  );

  it(
    'rejects what finds the queue full',
    marbles(({ hot, expectObservable, scheduler }) => {
      const rejected = new Subject<string>();
      const items = hot(' -abcd-e-|');
      const free = hot('  -----x---y');
      const expected = '  -----1---(2|)';
      const refused = '   ---cd----';
      const onRejected = (item: string): void => rejected.next(item);
      expectObservable(rejected).toBe(refused);
      expectObservable(items.pipe(batches({ free$: freeing(free), limit: 2, onRejected, scheduler }), text)).toBe(expected, {
        1: 'ab',
        2: 'e',
      });
    }),
  );

  it(
    'takes a withdrawn item out wherever it waits, and ignores one that has left',
    marbles(({ hot, expectObservable, scheduler }) => {
      const items = hot('    -abc-d-|');
      const withdrawn = hot('----b-a--------');
      const free = hot('     -----x--y');
      const expected = '     -----1--(2|)';
      const sent = batches({ free$: freeing(free), ...withdrawing(withdrawn), plan: takeUpTo(2), scheduler });
      expectObservable(items.pipe(sent, text)).toBe(expected, { 1: 'ac', 2: 'd' });
    }),
  );

  it(
    'asks again when a withdrawal may have made a batch of what is left',
    marbles(({ hot, expectObservable, scheduler }) => {
      const items = hot('    -abc----');
      const withdrawn = hot('-----b--');
      const free = hot('     x-------');
      const expected = '     -----1--';
      const plan = (waiting: Waiting<string>): Plan => ([...waiting].join('') === 'ac' ? { take: 2 } : { waitMs: 50 });
      const unsubscribe = '  -------!';
      expectObservable(items.pipe(batches({ free$: freeing(free), ...withdrawing(withdrawn), plan, scheduler }), text), unsubscribe).toBe(
        expected,
        {
          1: 'ac',
        },
      );
    }),
  );

  it(
    'passes an error once, and forgets what waits',
    marbles(({ hot, expectObservable, scheduler }) => {
      const forgotten = new Subject<string>();
      expectObservable(forgotten).toBe('---(ab)');
      const onForgotten = (item: string): void => forgotten.next(item);
      expectObservable(hot('-ab#').pipe(batches({ free$: hot('-----'), onForgotten, scheduler }), text)).toBe('---#');
    }),
  );

  it(
    'errors when items wait for resources that will not come',
    marbles(({ hot, expectObservable, scheduler }) => {
      const items = hot(' -abc-');
      const free = hot('  x-|');
      const sent = items.pipe(batches({ free$: freeing(free), scheduler }), text);
      expectObservable(sent).toBe('-a#', { a: 'a' }, new Error('1 wait and nobody is left to take them'));
    }),
  );

  it('errors when an item comes after the last resource has gone', () => {
    const errors: unknown[] = [];
    const items = new Subject<string>();
    items.pipe(batches({ free$: of(), scheduler: new VirtualTime() })).subscribe({ error: (error) => errors.push(error) });
    expect(errors).toEqual([]);
    items.next('a');
    expect(errors).toEqual([new Error('1 wait and nobody is left to take them')]);
  });

  it('does not begin when the resources have failed already', () => {
    let hasBegun = false;
    const errors: unknown[] = [];
    const source = defer(() => {
      hasBegun = true;
      return of('a');
    });
    source
      .pipe(batches({ free$: throwError(() => 'none'), scheduler: new VirtualTime() }))
      .subscribe({ error: (error) => errors.push(error) });
    expect([errors, hasBegun]).toEqual([['none'], false]);
  });

  it('completes after the last batch has been handed out, not while it is', () => {
    const time = new VirtualTime();
    const items = new Subject<string>();
    const log: string[] = [];
    items.pipe(batches({ free$: living(makeLease()), scheduler: time }), text).subscribe({
      next: (batch) => {
        items.complete();
        log.push(batch);
      },
      complete: () => log.push('complete'),
    });
    items.next('a');
    time.advance(0);
    expect(log).toEqual(['a', 'complete']);
  });

  it('decides at once when it is to hurry', () => {
    const items = new Subject<string>();
    const hurry$ = new Subject<void>();
    const got: string[] = [];
    items.pipe(batches({ free$: living(makeLease()), hurry$, scheduler: new VirtualTime() }), text).subscribe((batch) => got.push(batch));
    for (const item of 'ab') items.next(item);
    expect(got).toEqual([]);
    hurry$.next();
    expect(got).toEqual(['ab']);
  });

  it('discards a lease whose resource has ended in the meantime', () => {
    const time = new VirtualTime();
    const items = new Subject<string>();
    const dead = makeLease('dead');
    const alive = makeLease('alive');
    const got: Granted<string, string>[] = [];
    items.pipe(batches({ free$: of(dead, alive), scheduler: time })).subscribe((batch) => got.push(batch));
    dead.close();
    items.next('a');
    time.advance(0);
    expect(got.map(({ lease }) => lease.resource)).toEqual(['alive']);
  });

  it.each<[string, Plan]>([
    ['the plan takes 0 of 1 that wait', { take: 0 }],
    ['the plan takes 2 of 1 that wait', { take: 2 }],
    ['the plan takes 0.5 of 1 that wait', { take: 0.5 }],
    ['the plan waits for 0 ms', { waitMs: 0 }],
    ['the plan waits for NaN ms', { waitMs: Number.NaN }],
  ])('refuses loudly: %s', (message, plan) => {
    const time = new VirtualTime();
    const errors: unknown[] = [];
    const items = new Subject<string>();
    items
      .pipe(batches({ free$: of(makeLease()), plan: () => plan, scheduler: time }))
      .subscribe({ error: (error: Error) => errors.push(error.message) });
    items.next('a');
    time.advance(0);
    expect(errors).toEqual([message]);
  });

  it('releases the leases in hand and stops its timer when it is unsubscribed', () => {
    const time = new VirtualTime();
    const lease = makeLease();
    const free$ = new Subject<Lease<string>>();
    const items = new Subject<string>();
    const counters = noBufferCounters();
    const forgotten: string[] = [];
    const running = items
      .pipe(batches({ free$, plan: () => ({ waitMs: 5 }), onForgotten: (item) => forgotten.push(item), counters, scheduler: time }))
      .subscribe();
    free$.next(lease);
    items.next('a');
    time.advance(1);
    expect(time.pending).toBe(1);
    running.unsubscribe();
    expect([time.pending, lease.released, free$.observed, items.observed]).toEqual([0, 1, false, false]);
    expect(forgotten).toEqual(['a']);
    expect(counters).toEqual({ in: 1, out: 0, rejected: 0, withdrawn: 0, forgotten: 1, queued: 0 });
  });

  it('does not count what a free resource is about to take against the limit', () => {
    const time = new VirtualTime();
    const rejected: string[] = [];
    const got: string[] = [];
    const items = new Subject<string>();
    const free$ = living(makeLease());
    const counters = noBufferCounters();
    items
      .pipe(batches({ free$, limit: 2, onRejected: (item) => rejected.push(item), counters, scheduler: time }), text)
      .subscribe((batch) => got.push(batch));
    for (const item of 'abcde') items.next(item);
    expect([got, rejected]).toEqual([['ab'], ['e']]);
    expect(counters).toEqual({ in: 5, out: 2, rejected: 1, withdrawn: 0, forgotten: 0, queued: 2 });
  });

  it('withdraws any of 80,000 that wait without looking at the others', () => {
    const items = Array.from({ length: 80_000 }, (_, n) => `${n}`);
    const withdrawn$ = new Subject<string>();
    const counters = noBufferCounters();
    const time = new VirtualTime();
    let planned = 0;
    const plan = (waiting: Waiting<string>): Plan => {
      planned++;
      return takeAll(waiting);
    };
    const arrivals = new Subject<string>();
    const free$ = new Subject<Lease<string>>();
    arrivals.pipe(batches({ free$, ...withdrawing(withdrawn$), plan, limit: 80_000, counters, scheduler: time })).subscribe();
    for (const item of items) arrivals.next(item);
    for (const item of items.reverse()) withdrawn$.next(item);
    expect(counters).toMatchObject({ queued: 0, withdrawn: 80_000 });
    expect(planned).toBe(0);
  });

  it('survives resources that come back at once', () => {
    const time = new VirtualTime();
    let rounds = 0;
    from(Array.from({ length: 20_000 }, (_, n) => `${n}`))
      .pipe(
        batches({ free$: of(living('r')).pipe(leases({ capacity: () => 1 })), plan: () => ({ take: 1 }), limit: 20_000, scheduler: time }),
      )
      .subscribe(({ lease }) => {
        rounds++;
        lease.release();
      });
    time.advance(0);
    expect(rounds).toBe(20_000);
  });

  it('survives resources that come while a batch is handed out', () => {
    const time = new VirtualTime();
    const free$ = new Subject<Lease<string>>();
    let rounds = 0;
    from(Array.from({ length: 20_000 }, (_, n) => `${n}`))
      .pipe(batches({ free$, plan: () => ({ take: 1 }), limit: 20_000, scheduler: time }))
      .subscribe(() => {
        rounds++;
        free$.next(makeLease());
      });
    free$.next(makeLease());
    expect(rounds).toBe(20_000);
  });

  it('sets one timer for all that comes in a tick', () => {
    const time = new VirtualTime();
    const schedule = vi.spyOn(time, 'schedule');
    const items = new Subject<string>();
    items.pipe(batches({ free$: living(makeLease()), scheduler: time })).subscribe();
    for (const item of 'abcde') items.next(item);
    expect(schedule).toHaveBeenCalledTimes(1);
    time.advance(0);
    expect([schedule.mock.calls.length, time.pending]).toEqual([1, 0]);
  });

  it('leaves no timer behind when the only one that waits goes', () => {
    const time = new VirtualTime();
    const items = new Subject<string>();
    const withdrawn$ = new Subject<string>();
    const plan = (): Plan => ({ waitMs: 5 });
    items.pipe(batches({ free$: living(makeLease()), plan, ...withdrawing(withdrawn$), scheduler: time })).subscribe();
    items.next('a');
    expect(time.pending).toBe(1);
    withdrawn$.next('a');
    expect(time.pending).toBe(0);
    items.next('b');
    time.advance(1);
    expect(time.pending).toBe(1);
    withdrawn$.next('b');
    expect(time.pending).toBe(0);
  });

  it('keeps the timer of a planned wait while more comes, and the plan stays at the same time', () => {
    const time = new VirtualTime();
    const schedule = vi.spyOn(time, 'schedule');
    const items = new Subject<string>();
    const plan = (_: Waiting<string>, nowMs: number): Plan => (nowMs < 10 ? { waitMs: 10 - nowMs } : { take: 3 });
    const got: string[] = [];
    items.pipe(batches({ free$: living(makeLease()), plan, scheduler: time }), text).subscribe((batch) => got.push(batch));
    for (const item of 'abc') {
      items.next(item);
      time.advance(2);
    }
    // Three ends of ticks and the wait.
    expect([schedule.mock.calls.length, time.pending]).toEqual([4, 1]);
    time.advance(4);
    expect(got).toEqual(['abc']);
  });

  it('waits without a timer when the plan knows no time', () => {
    const time = new VirtualTime();
    const items = new Subject<string>();
    const got: string[] = [];
    const plan = ({ length }: Waiting<string>): Plan => (length < 3 ? { waitMs: Number.POSITIVE_INFINITY } : { take: length });
    items.pipe(batches({ free$: living(makeLease()), plan, scheduler: time }), text).subscribe((batch) => got.push(batch));
    for (const item of 'ab') items.next(item);
    time.advance(0);
    expect([time.pending, got]).toEqual([0, []]);
    items.next('c');
    time.advance(0);
    expect(got).toEqual(['abc']);
  });
});
