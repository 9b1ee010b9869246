import type { OperatorFunction, Subscription } from 'rxjs';
import { Observable, Subject } from 'rxjs';
import { describe, expect, it, vi } from 'vitest';
import type { Scheduler } from '../../src/streams/flow/clock.ts';
import { VirtualTime } from '../support/virtual-time.ts';

/** An operator and what is around it. Items are numbered; what became of each is told by its number. */
export interface World<In, Out> {
  readonly operator: OperatorFunction<In, Out>;
  item(n: number): In;
  /** Numbers of the items that an emission carries; empty where `out` below is filled by other means. */
  numbersOf(emission: Out): readonly number[];
  /** Numbers of items that came out other than by an emission, in order. */
  readonly out: readonly number[];
  /** Numbers of items that were rejected or forgotten. */
  readonly lost: readonly number[];
  /** Lets so many more items through. */
  serve(count: number): void;
  /** Resources that the operator holds though no item that came out has them. */
  held(): number;
}

export interface OperatorUnderLaws<In, Out> {
  readonly name: string;
  /** How many items may wait in it; infinite for an operator in which nothing waits. */
  readonly limit: number;
  create(scheduler: Scheduler, limit: number): World<In, Out>;
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, n) => n);

const machineTimers = ['setTimeout', 'setInterval', 'setImmediate'] as const;

/** What every operator of the family keeps, whatever else it does. */
export const operatorLaws = <In, Out>({ name, limit, create }: OperatorUnderLaws<In, Out>): void => {
  const begin = (source: Observable<In>, world: World<In, Out>) => {
    const ends: string[] = [];
    const emitted: number[] = [];
    const subscription: Subscription = source.pipe(world.operator).subscribe({
      next: (emission) => emitted.push(...world.numbersOf(emission)),
      error: (error) => ends.push(`error ${error}`),
      complete: () => ends.push('complete'),
    });
    return { ends, subscription, passed: (): readonly number[] => [...emitted, ...world.out] };
  };

  const setUp = (roomFor = Number.isFinite(limit) ? limit : 1000) => {
    const time = new VirtualTime();
    const world = create(time, roomFor);
    const source = new Subject<In>();
    const running = begin(source, world);
    const send = (count: number): void => {
      for (const n of upTo(count)) source.next(world.item(n));
    };
    return { time, world, source, ...running, send };
  };

  describe(`the laws of operators: ${name}`, () => {
    it('lets out once, and in order, what goes in', () => {
      const { time, world, send, passed } = setUp();
      world.serve(1);
      send(6);
      time.advance(0);
      world.serve(10);
      time.advance(0);
      expect(passed()).toEqual(upTo(6));
      expect(world.lost).toEqual([]);
    });

    if (Number.isFinite(limit)) {
      it('never lets more than the limit wait', () => {
        const { time, world, send, passed } = setUp(3);
        send(8);
        expect(world.lost).toEqual([3, 4, 5, 6, 7]);
        world.serve(10);
        time.advance(0);
        expect(passed()).toEqual([0, 1, 2]);
      });
    }

    it('passes an error once, and loses nothing out of sight', () => {
      const { time, world, source, send, ends, passed } = setUp();
      world.serve(2);
      send(5);
      time.advance(0);
      source.error('x');
      expect(ends).toEqual(['error x']);
      expect([...passed(), ...world.lost].sort()).toEqual(upTo(5));
      expect([time.pending, world.held()]).toEqual([0, 0]);
    });

    it('drains before it completes', () => {
      const { time, world, source, send, ends, passed } = setUp();
      world.serve(2);
      send(5);
      source.complete();
      time.advance(0);
      if (Number.isFinite(limit)) expect(ends).toEqual([]);
      world.serve(3);
      time.advance(0);
      expect(passed()).toEqual(upTo(5));
      expect(ends).toEqual(['complete']);
      expect([time.pending, world.held()]).toEqual([0, 0]);
    });

    it('completes without items', () => {
      const { source, ends } = setUp();
      source.complete();
      expect(ends).toEqual(['complete']);
    });

    it('frees timers, resources and items when it is unsubscribed', () => {
      for (const served of [0, 2, 9]) {
        const { time, world, source, send, subscription, ends, passed } = setUp();
        world.serve(served);
        send(5);
        if (served === 9) time.advance(0);
        subscription.unsubscribe();
        expect([time.pending, world.held(), source.observed]).toEqual([0, 0, false]);
        expect([...passed(), ...world.lost].sort()).toEqual(upTo(5));
        expect(ends).toEqual([]);
      }
    });

    it('shares nothing between two subscribers', () => {
      const time = new VirtualTime();
      const worlds = [create(time, 100), create(time, 100)];
      const sources = worlds.map((world) => {
        const source = new Subject<In>();
        return { source, world, ...begin(source, world) };
      });
      for (const { source, world } of sources) for (const n of upTo(4)) source.next(world.item(n));
      const [first, second] = sources;
      first?.subscription.unsubscribe();
      second?.world.serve(4);
      time.advance(0);
      expect(second?.passed()).toEqual(upTo(4));
      expect(first?.passed().length === 4 || first?.world.lost.length === 4).toBe(true);
    });

    it('uses no time but that of its scheduler', () => {
      const spies = machineTimers.map((timer) => vi.spyOn(globalThis, timer));
      const now = vi.spyOn(performance, 'now');
      try {
        const { time, world, source, send } = setUp();
        world.serve(1);
        send(5);
        time.advance(5);
        world.serve(9);
        source.complete();
        time.advance(5);
        expect(spies.map((spy) => spy.mock.calls.length)).toEqual([0, 0, 0]);
        expect(now).not.toHaveBeenCalled();
      } finally {
        for (const spy of [...spies, now]) spy.mockRestore();
      }
    });

    it('survives 20,000 rounds in one call', () => {
      const rounds = 20_000;
      const time = new VirtualTime();
      const world = create(time, rounds);
      world.serve(rounds);
      const { passed, ends } = begin(
        new Observable<In>((subscriber) => {
          for (const n of upTo(rounds)) subscriber.next(world.item(n));
          subscriber.complete();
        }),
        world,
      );
      time.advance(0);
      expect(passed()).toHaveLength(rounds);
      expect(ends).toEqual(['complete']);
    });
  });
};
