import { Subject } from 'rxjs';
import { describe, expect, it } from 'vitest';
import type { BufferWhenFreeConfig, Plan } from '../../../src/streams/flow/buffer-when-free.ts';
import { bufferWhenFree, noBufferCounters } from '../../../src/streams/flow/buffer-when-free.ts';
import type { Waiting } from '../../../src/streams/flow/lane.ts';
import type { Lease } from '../../../src/streams/flow/leases.ts';
import { PriorityLane } from '../../../src/streams/flow/priority-lane.ts';
import { makeLease } from '../../support/flow.ts';
import { VirtualTime } from '../../support/virtual-time.ts';

type Config = BufferWhenFreeConfig<string, string>;

const takeAll = (waiting: Waiting<string>): Plan => ({ take: waiting.length });

describe('bufferWhenFree with deadlines', () => {
  /** A digit after a letter is its level, and the hundreds of milliseconds that it may wait: `a1` may wait 100 ms. */
  const lane = (limit = 100, whenDue: 'reject' | 'delay' = 'reject') =>
    new PriorityLane<string>({
      levelOf: (item) => BigInt(item.charAt(1)),
      ruleOf: () => ({ limit, whenDue, deadlineMs: (item) => time.now() + 100 * Number(item.charAt(1)) }),
    });
  let time: VirtualTime;
  let items: Subject<string>;
  let free$: Subject<Lease<string>>;
  let log: string[];
  let counters: ReturnType<typeof noBufferCounters>;

  const start = (config: Partial<Config> = {}) => {
    time = new VirtualTime();
    items = new Subject();
    free$ = new Subject();
    log = [];
    counters = noBufferCounters();
    return items
      .pipe(
        bufferWhenFree<string, string>({
          free$,
          lane: () => lane(),
          plan: takeAll,
          limit: 100,
          counters,
          scheduler: time,
          onRejected: (item) => log.push(`${item} rejected`),
          onExpired: (item) => log.push(`${item} expired at ${Math.floor(time.now())}`),
          onForgotten: (item) => log.push(`${item} forgotten`),
          ...config,
        }),
      )
      .subscribe({ next: (batch) => log.push(batch.items.join('+')), complete: () => log.push('complete') });
  };

  const send = (text: string): void => {
    for (const item of text.split(' ')) items.next(item);
  };

  it('says that an item is late when it is, though nobody is free, with one timer for all', () => {
    start();
    send('c3 a1 b2 d1');
    expect(time.pending).toBe(1);
    time.advance(100);
    expect(log).toEqual([]);
    time.advance(0.01);
    expect(log).toEqual(['a1 expired at 100', 'd1 expired at 100']);
    expect(time.pending).toBe(1);
    time.advance(150);
    expect(log.slice(2)).toEqual(['b2 expired at 200']);
    free$.next(makeLease());
    expect(log.slice(3)).toEqual(['c3']);
    expect(counters).toEqual({ in: 4, out: 1, rejected: 3, withdrawn: 0, forgotten: 0, queued: 0 });
  });

  it('takes nothing that is late, even where the timer is', () => {
    start();
    send('a1 b2');
    // A busy thread: the time has come, and the timer has not.
    time.frame = 101;
    free$.next(makeLease());
    expect(log).toEqual(['a1 expired at 101', 'b2']);
  });

  it('plans nothing where all that waited is late', () => {
    const errors: unknown[] = [];
    let plans = 0;
    start({
      plan: (waiting) => {
        plans++;
        return takeAll(waiting);
      },
    }).add(() => errors.push('ended'));
    send('a1 b1');
    time.frame = 101;
    free$.next(makeLease());
    expect([log, plans, errors]).toEqual([['a1 expired at 101', 'b1 expired at 101'], 0, []]);
  });

  it('has room for an item whose place a late one takes', () => {
    start({ lane: () => lane(1) });
    send('a1 b1');
    time.frame = 101;
    send('c1');
    expect(log).toEqual(['b1 rejected', 'a1 expired at 101']);
  });

  it('plans anew when an item is delayed', () => {
    const plan = (waiting: Waiting<string>): Plan => ([...waiting].join('') === 'b1a1' ? { take: 2 } : { waitMs: 500 });
    start({ lane: () => lane(100, 'delay'), plan });
    free$.next(makeLease());
    send('a1');
    time.advance(50);
    send('b1');
    time.advance(51);
    expect(log).toEqual(['b1+a1']);
  });

  it('keeps the timer of an item that has left, and sets it for the next when it rings', () => {
    start();
    send('a1');
    free$.next(makeLease());
    time.advance(50);
    send('b1');
    expect(time.pending).toBe(1);
    time.advance(99);
    expect(log).toEqual(['a1']);
    time.advance(2);
    expect(log).toEqual(['a1', 'b1 expired at 150']);
  });

  it('completes when the last that waited is late', () => {
    start();
    send('a1');
    items.complete();
    time.advance(101);
    expect(log).toEqual(['a1 expired at 100', 'complete']);
    expect(time.pending).toBe(0);
  });

  it('leaves no timer behind when it is unsubscribed, also by whoever hears that an item is late', () => {
    const running = start({
      onExpired: (item) => {
        log.push(`${item} expired`);
        running.unsubscribe();
      },
    });
    send('a1 b1 c2');
    time.advance(101);
    expect(log).toEqual(['a1 expired', 'b1 forgotten', 'c2 forgotten']);
    expect([time.pending, counters.queued]).toEqual([0, 0]);
  });

  it('calls an expired item rejected where nobody asks for the difference', () => {
    start({ onExpired: undefined });
    send('a1');
    time.advance(101);
    expect(log).toEqual(['a1 rejected']);
  });

  it('survives 20,000 that are late at once and whose callers all try again', () => {
    let tries = 0;
    start({
      limit: 20_000,
      lane: () => lane(20_000),
      onExpired: () => {
        if (tries++ < 20_000) items.next('b2');
      },
    });
    for (let n = 0; n < 20_000; n++) items.next('a1');
    time.advance(101);
    expect([tries, counters.queued]).toEqual([20_000, 20_000]);
    time.advance(200);
    expect(counters).toMatchObject({ queued: 0, rejected: 40_000 });
  });
});
