import { type Observable, of, Subject } from 'rxjs';
import { describe, expect, it } from 'vitest';
import type { Lease } from '../../../src/streams/flow/leases.ts';
import { leases } from '../../../src/streams/flow/leases.ts';
import { operatorLaws } from '../../contracts/operator-laws.ts';
import { living } from '../../support/model.ts';

const open = (capacity = 1) => {
  const lives = new Subject<Subject<string>>();
  const got: Lease<string>[] = [];
  const ends: string[] = [];
  const subscription = lives.pipe(leases({ capacity: () => capacity })).subscribe({
    next: (lease) => got.push(lease),
    error: (error) => ends.push(`error ${error}`),
    complete: () => ends.push('complete'),
  });
  const begin = (resource: string): Subject<string> => {
    const life = new Subject<string>();
    lives.next(life);
    life.next(resource);
    return life;
  };
  const at = (index: number): Lease<string> => {
    const lease = got[index];
    if (lease === undefined) throw new Error(`no lease ${index}`);
    return lease;
  };
  return { lives, got, ends, subscription, begin, at };
};

operatorLaws<Observable<number>, Lease<number>>({
  name: 'leases',
  limit: Number.POSITIVE_INFINITY,
  create: () => ({
    operator: leases({ capacity: () => 1 }),
    item: (n) => of(n),
    numbersOf: (lease) => [lease.resource],
    out: [],
    lost: [],
    serve: () => {},
    held: () => 0,
  }),
});

describe('leases', () => {
  it('lends a resource as often as it has capacity, and again when it comes back', () => {
    const { got, begin, at } = open(2);
    begin('a');
    expect(got.map(({ resource }) => resource)).toEqual(['a', 'a']);
    at(0).release();
    at(0).release();
    expect(got).toHaveLength(3);
    expect(got.map(({ isOpen }) => isOpen)).toEqual([false, true, true]);
  });

  it.each(['error', 'complete'] as const)('withdraws the permits of a resource that ends (%s), and tells their holders why', (how) => {
    const { got, begin, at, ends } = open(2);
    const life = begin('a');
    begin('b');
    const told: unknown[] = [];
    at(0).onEnded = (error) => told.push(error);
    at(1).release();
    life[how]('gone');
    expect(told).toEqual([how === 'error' ? 'gone' : undefined]);
    at(0).release();
    expect(got.map(({ resource, isOpen }) => `${resource} ${isOpen}`)).toEqual(['a false', 'a false', 'b true', 'b true', 'a false']);
    expect(ends).toEqual([]);
  });

  it('does not lend again what has ended while it was lent the first time', () => {
    const life = new Subject<string>();
    const got: boolean[] = [];
    living(life)
      .pipe(leases({ capacity: () => 3 }))
      .subscribe(({ isOpen }) => {
        got.push(isOpen);
        life.complete();
      });
    life.next('a');
    expect(got).toEqual([true]);
  });

  it('tells nobody who has released', () => {
    const { begin, at } = open();
    const life = begin('a');
    at(0).onEnded = () => {
      throw new Error('told');
    };
    at(0).release();
    life.complete();
  });

  it('completes when the source and all lives have', () => {
    const { lives, begin, ends } = open();
    const life = begin('a');
    lives.complete();
    expect(ends).toEqual([]);
    life.complete();
    expect(ends).toEqual(['complete']);
  });

  it('passes the error of the source', () => {
    const { lives, ends } = open();
    lives.error('x');
    expect(ends).toEqual(['error x']);
  });

  it('ends every life when it is unsubscribed', () => {
    const { begin, subscription, at } = open();
    const life = begin('a');
    subscription.unsubscribe();
    expect(life.observed).toBe(false);
    expect(at(0).isOpen).toBe(false);
  });

  it('survives a holder that gives back at once', () => {
    let rounds = 0;
    of(living('a'))
      .pipe(leases({ capacity: () => 1 }))
      .subscribe((lease) => {
        if (++rounds < 20_000) lease.release();
      });
    expect(rounds).toBe(20_000);
  });
});
