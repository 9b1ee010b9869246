import { describe, expect, it } from 'vitest';
import { produce } from '../../../src/streams/flow/produce.ts';
import { VirtualTime } from '../../support/virtual-time.ts';

class HandDemand {
  isOpen = true;
  onOpen: (() => void) | undefined;

  open(): void {
    this.isOpen = true;
    this.onOpen?.();
  }
}

interface Setting {
  readonly count?: number;
  readonly delayMs?: (index: number) => number;
  readonly demand?: HandDemand;
  readonly onItem?: (index: number) => void;
}

const start = ({ count = 3, delayMs = () => 0, demand, onItem = () => {} }: Setting = {}) => {
  const time = new VirtualTime();
  const seen: string[] = [];
  const making = produce({ count, make: (index) => index, delayMs, demand, scheduler: time }).subscribe({
    next: (index) => {
      seen.push(`${time.now()}: ${index}`);
      onItem(index);
    },
    error: (error) => seen.push(`${time.now()}: ${error}`),
    complete: () => seen.push(`${time.now()}: end`),
  });
  return { time, seen, making };
};

describe('produce', () => {
  it('makes items after their delays, one after another', () => {
    const { time, seen } = start({ delayMs: (index) => [10, 0, 5][index] ?? 0 });
    time.advance(100);
    expect(seen).toEqual(['10: 0', '10: 1', '15: 2', '15: end']);
  });

  it('ends at once where there is nothing to make', () => {
    expect(start({ count: 0 }).seen).toEqual(['0: end']);
  });

  it('gives others their turn while it makes many', () => {
    const { time, seen } = start({ count: 100 });
    expect(seen.length).toBe(32);
    time.advance(0);
    expect(seen.length).toBe(101);
  });

  it('makes nothing without demand, and goes on from there', () => {
    const demand = new HandDemand();
    const { seen, time } = start({
      count: 5,
      demand,
      onItem: (index) => {
        if (index % 2 === 1) demand.isOpen = false;
      },
    });
    time.advance(0);
    expect(seen.length).toBe(2);
    demand.open();
    demand.open();
    expect(seen).toEqual(['0: 0', '0: 1', '0: 2', '0: 3', '0: 4', '0: end']);
    expect(demand.onOpen).toBe(undefined);
  });

  it('lets the delay pass while there is no demand, and no shorter one while there is', () => {
    const demand = new HandDemand();
    const { time, seen } = start({ count: 2, demand, delayMs: () => 10 });
    demand.open();
    time.advance(5);
    demand.isOpen = false;
    time.advance(15);
    expect(seen).toEqual([]);
    demand.open();
    demand.open();
    time.advance(9);
    expect(seen).toEqual(['20: 0']);
    time.advance(1);
    expect(seen).toEqual(['20: 0', '30: 1', '30: end']);
  });

  it('asks for each delay once, and keeps to it whenever there is demand', () => {
    const demand = new HandDemand();
    const asked: number[] = [];
    const delayMs = (index: number): number => {
      asked.push(index);
      return index < 2 ? 10 : 0;
    };
    const onItem = (index: number): void => {
      demand.isOpen = index !== 1;
    };
    const { time, seen } = start({ count: 3, demand, delayMs, onItem });
    time.advance(3);
    demand.open();
    time.advance(17);
    demand.open();
    expect(seen).toEqual(['10: 0', '20: 1', '20: 2', '20: end']);
    expect(asked).toEqual([0, 1, 2]);
  });

  it('may be opened from within an emission again and again', () => {
    const demand = new HandDemand();
    const { time, seen } = start({ count: 20_000, demand, onItem: () => demand.open() });
    time.advance(0);
    expect(seen.length).toBe(20_001);
  });

  it('makes no more once it is unsubscribed, from within an item too', () => {
    const demand = new HandDemand();
    const waiting = start({ demand, delayMs: () => 10 });
    waiting.making.unsubscribe();
    waiting.time.advance(100);
    expect([waiting.seen, waiting.time.pending, demand.onOpen]).toEqual([[], 0, undefined]);
    const busy = start({
      count: 50,
      onItem: (index) => {
        if (index === 40) busy.making.unsubscribe();
      },
    });
    busy.time.advance(0);
    expect([busy.seen.length, busy.time.pending]).toEqual([41, 0]);
  });

  it('fails as what it is to make does', () => {
    const time = new VirtualTime();
    const errors: unknown[] = [];
    const make = (index: number): number => {
      if (index === 40) throw new Error('no more');
      return index;
    };
    produce({ count: 50, make, delayMs: () => 0, demand: undefined, scheduler: time }).subscribe({ error: (error) => errors.push(error) });
    time.advance(0);
    expect(errors).toEqual([new Error('no more')]);
  });
});
