import { from, of, Subject } from 'rxjs';
import { describe, expect, it } from 'vitest';
import type { BufferWhenFreeConfig, Granted, Plan } from '../../../src/streams/flow/buffer-when-free.ts';
import { bufferWhenFree } from '../../../src/streams/flow/buffer-when-free.ts';
import type { Waiting } from '../../../src/streams/flow/lane.ts';
import type { Lease } from '../../../src/streams/flow/leases.ts';
import { leases } from '../../../src/streams/flow/leases.ts';
import type { Turnstile } from '../../../src/streams/flow/turnstile.ts';
import { makeLease, withdrawing } from '../../support/flow.ts';
import { living } from '../../support/model.ts';
import { VirtualTime } from '../../support/virtual-time.ts';

type Config = BufferWhenFreeConfig<string, string>;

const takeAll = (waiting: Waiting<string>): Plan => ({ take: waiting.length });

describe('bufferWhenFree with a turnstile', () => {
  /** So many may be inside at once; the others wait in line. */
  class Narrow implements Turnstile<string> {
    inside = 0;
    readonly #room: number;
    readonly #line: (() => void)[] = [];

    constructor(room: number) {
      this.#room = room;
    }

    get asked(): number {
      return this.#line.length;
    }

    ask(candidates: readonly Lease<string>[], onGranted: (lease: Lease<string>) => void): () => void {
      const [lease] = candidates;
      if (lease === undefined) throw new Error('no candidates');
      const enter = (): void => {
        this.inside++;
        let isInside = true;
        onGranted({
          resource: lease.resource,
          get isOpen() {
            return isInside && lease.isOpen;
          },
          onEnded: undefined,
          release: () => {
            if (!isInside) return;
            isInside = false;
            lease.release();
            this.inside--;
            this.#line.shift()?.();
          },
        });
      };
      if (this.inside < this.#room) enter();
      else this.#line.push(enter);
      return () => {
        const index = this.#line.indexOf(enter);
        if (index >= 0) this.#line.splice(index, 1);
      };
    }

    leave(): void {
      this.inside--;
      this.#line.shift()?.();
    }
  }

  const setUp = (room: number, inside: number, config: Partial<Config> = {}) => {
    const turnstile = new Narrow(room);
    turnstile.inside = inside;
    const time = new VirtualTime();
    const items = new Subject<string>();
    const free$ = new Subject<Lease<string>>();
    const withdrawn$ = new Subject<string>();
    const got: Granted<string, string>[] = [];
    const running = items
      .pipe(
        bufferWhenFree<string, string>({
          free$,
          turnstile,
          plan: takeAll,
          limit: 100_000,
          scheduler: time,
          onRejected: () => {},
          onForgotten: () => {},
          ...withdrawing(withdrawn$),
          ...config,
        }),
      )
      .subscribe((batch) => got.push(batch));
    const texts = (): readonly string[] => got.map((batch) => batch.items.join(''));
    return { turnstile, time, items, free$, withdrawn$, got, texts, running };
  };

  it('lets a batch grow until it is let through, and gives back the share with the lease', () => {
    const { turnstile, time, items, free$, got, texts } = setUp(1, 1);
    const lease = makeLease();
    free$.next(lease);
    items.next('a');
    time.advance(0);
    items.next('b');
    time.advance(0);
    expect([texts(), turnstile.asked]).toEqual([[], 1]);
    turnstile.leave();
    expect([texts(), turnstile.inside]).toEqual([['ab'], 1]);
    got[0]?.lease.release();
    expect([lease.released, turnstile.inside]).toEqual([1, 0]);
  });

  it('does not ask while the plan waits, and gives back what comes when it waits again', () => {
    let isReady = false;
    const plan = ({ length }: Waiting<string>): Plan => (isReady ? { take: length } : { waitMs: 50 });
    const { turnstile, time, items, free$, texts } = setUp(1, 1, { plan });
    free$.next(makeLease());
    items.next('a');
    time.advance(0);
    expect(turnstile.asked).toBe(0);
    isReady = true;
    time.advance(50);
    expect(turnstile.asked).toBe(1);
    isReady = false;
    turnstile.leave();
    expect([texts(), turnstile.inside]).toEqual([[], 0]);
  });

  it('withdraws its question when nothing waits any more', () => {
    const { turnstile, time, items, free$, withdrawn$ } = setUp(1, 1);
    free$.next(makeLease());
    items.next('a');
    time.advance(0);
    withdrawn$.next('a');
    expect(turnstile.asked).toBe(0);
  });

  it('withdraws its question, and releases its leases, when it is unsubscribed', () => {
    const { turnstile, time, items, free$, running } = setUp(1, 1);
    const lease = makeLease();
    free$.next(lease);
    items.next('a');
    time.advance(0);
    running.unsubscribe();
    expect([turnstile.asked, lease.released]).toEqual([0, 1]);
  });

  it('survives 20,000 that are let through at once', () => {
    const time = new VirtualTime();
    const turnstile = new Narrow(1);
    let rounds = 0;
    from(Array.from({ length: 20_000 }, (_, n) => `${n}`))
      .pipe(
        bufferWhenFree<string, string>({
          free$: of(living('r')).pipe(leases({ capacity: () => 2 })),
          turnstile,
          plan: () => ({ take: 1 }),
          limit: 20_000,
          scheduler: time,
          onRejected: () => {},
          onForgotten: () => {},
        }),
      )
      .subscribe(({ lease }) => {
        rounds++;
        lease.release();
      });
    time.advance(0);
    expect([rounds, turnstile.inside, turnstile.asked]).toEqual([20_000, 0, 0]);
  });
});
