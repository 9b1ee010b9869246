import { Subject } from 'rxjs';
import { describe, expect, it } from 'vitest';
import type { Lease } from '../../../src/streams/flow/leases.ts';
import { leases } from '../../../src/streams/flow/leases.ts';
import type { Contender, Pool } from '../../../src/streams/flow/share-permits.ts';
import { noShareCounters, SharePermits } from '../../../src/streams/flow/share-permits.ts';

/** Grants in order of asking, as long as the first finds what it needs. */
const inOrderOfAsking = (waiting: readonly (readonly Contender[])[]) =>
  waiting[0]?.[0]?.shares.every(({ pool, count }) => pool.used + count <= pool.limit) ? { question: 0, candidate: 0 } : undefined;

const begin = (limit = 1) => {
  const pool: Pool = { limit, used: 0 };
  const permits = new SharePermits<Contender>({ plan: inOrderOfAsking });
  const counters = noShareCounters();
  const contenders = new Map<string, Contender>();
  const lives = new Map<string, Subject<string>>();
  const lives$ = new Subject<Subject<string>>();
  const free: Lease<string>[] = [];
  lives$.pipe(leases({ capacity: () => 1 })).subscribe((lease) => free.push(lease));
  const turnstile = permits.turnstile<string>({ whoOf: (name) => contenders.get(name), counters });
  const rise = (name: string, count = 1): void => {
    contenders.set(name, { shares: [{ pool, count }], turns: 0, isUp: true });
    const life = new Subject<string>();
    lives.set(name, life);
    lives$.next(life);
    life.next(name);
  };
  const granted: Lease<string>[] = [];
  const ask = (...names: string[]): (() => void) =>
    turnstile.ask(
      names.flatMap((name) => free.filter(({ resource, isOpen }) => isOpen && resource === name)),
      (lease) => granted.push(lease),
    );
  const names = (): readonly string[] => granted.map(({ resource }) => resource);
  return { pool, permits, counters, contenders, lives, rise, ask, granted, names, turnstile, free };
};

describe('SharePermits', () => {
  it('grants at once what is there, and the rest when it comes back', () => {
    const { pool, counters, rise, ask, granted, names, contenders } = begin();
    rise('a');
    rise('b');
    ask('a');
    ask('b');
    expect(names()).toEqual(['a']);
    expect(pool.used).toBe(1);
    expect(counters).toEqual({ asked: 2, granted: 1, withdrawn: 0, waiting: 1 });
    expect(granted[0]?.isOpen).toBe(true);
    granted[0]?.release();
    granted[0]?.release();
    expect(granted[0]?.isOpen).toBe(false);
    expect(names()).toEqual(['a', 'b']);
    expect(pool.used).toBe(1);
    expect([contenders.get('a')?.turns, contenders.get('b')?.turns]).toEqual([1, 0]);
  });

  it('gives back the resource with the share', () => {
    const { rise, ask, granted, free } = begin();
    rise('a');
    ask('a');
    expect(free.map(({ isOpen }) => isOpen)).toEqual([true]);
    granted[0]?.release();
    expect(free.map(({ resource, isOpen }) => `${resource} ${isOpen}`)).toEqual(['a false', 'a true']);
  });

  it('grants nothing while limits and contenders change, and then what has become possible', () => {
    const { permits, pool, rise, ask, names } = begin(0);
    rise('a');
    ask('a');
    permits.change(() => {
      pool.limit = 1;
      permits.grant();
      expect(names()).toEqual([]);
    });
    expect(names()).toEqual(['a']);
  });

  it('lets the next one go when the first takes its question back', () => {
    const { pool, counters, rise, ask, granted, names } = begin(2);
    for (const [name, count] of [
      ['a', 2],
      ['b', 2],
      ['c', 0],
    ] as const)
      rise(name, count);
    ask('a');
    const withdraw = ask('b');
    ask('c');
    expect(names()).toEqual(['a']);
    withdraw();
    withdraw();
    expect(names()).toEqual(['a', 'c']);
    granted[0]?.release();
    expect(names()).toEqual(['a', 'c']);
    expect(pool.used).toBe(0);
    expect(counters).toEqual({ asked: 3, granted: 2, withdrawn: 1, waiting: 0 });
  });

  it('takes another candidate for one that has ended, and drops a question without any', () => {
    const { permits, counters, rise, ask, granted, names, lives } = begin();
    for (const name of ['a', 'b', 'c']) rise(name);
    ask('a');
    ask('b', 'c');
    lives.get('b')?.complete();
    permits.grant();
    expect(counters.waiting).toBe(1);
    granted[0]?.release();
    expect(names()).toEqual(['a', 'c']);
    ask('a');
    expect(counters.waiting).toBe(1);
    lives.get('a')?.complete();
    permits.grant();
    expect(counters).toEqual({ asked: 3, granted: 2, withdrawn: 1, waiting: 0 });
  });

  it('gives back what a resource held that has ended, and tells its holder', () => {
    const { pool, rise, ask, granted, names, lives } = begin();
    rise('a');
    rise('b');
    ask('a');
    ask('b');
    const told: unknown[] = [];
    const [lease] = granted;
    if (lease !== undefined) lease.onEnded = (error) => told.push(error, pool.used);
    lives.get('a')?.error('died');
    expect(told).toEqual(['died', 0]);
    expect(names()).toEqual(['a', 'b']);
    lease?.release();
    expect(pool.used).toBe(1);
  });

  it('goes on when a resource ends whose holder does not listen', () => {
    const { rise, ask, names, lives, pool } = begin();
    for (const name of ['a', 'b']) rise(name);
    ask('a');
    ask('b');
    lives.get('a')?.complete();
    expect([names(), pool.used]).toEqual([['a', 'b'], 1]);
  });

  it('grants nothing to one who is down, nor a resource that is nobody’s any more', () => {
    const { rise, ask, names, contenders, counters } = begin();
    for (const name of ['a', 'b']) rise(name);
    const a = contenders.get('a');
    if (a !== undefined) a.isUp = false;
    contenders.delete('b');
    ask('a');
    ask('b');
    expect(names()).toEqual([]);
    expect(counters).toMatchObject({ granted: 0, withdrawn: 2 });
  });

  it('survives 20,000 rounds in one call', () => {
    const { rise, turnstile, free, counters, pool } = begin();
    rise('a');
    const rounds = 20_000;
    let left = rounds;
    const ask = (): void => {
      const lease = free.at(-1);
      if (left-- > 0 && lease !== undefined) {
        turnstile.ask([lease], (granted) => {
          granted.release();
          ask();
        });
      }
    };
    ask();
    expect(counters).toEqual({ asked: rounds, granted: rounds, withdrawn: 0, waiting: 0 });
    expect(pool.used).toBe(0);
  });
});
