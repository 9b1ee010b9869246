import { Observable } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { Call } from '../../../src/operators/call.ts';
import { FreeSlots } from '../../../src/operators/sequences/free-slots.ts';
import { Sequence } from '../../../src/operators/sequences/sequence.ts';
import { SequenceSlot, type SlotBatcher, SlotKind } from '../../../src/operators/sequences/sequence-slot.ts';
import { makeRequest, makeSpec } from '../../support/model.ts';
import { makeSequenceBatching } from '../../support/sequences.ts';

const keeper = { cancelNext: () => {}, cancelWaiting: () => {}, released: () => {} };
const kind = new SlotKind(makeSpec({ sequenceBatching: makeSequenceBatching() }), keeper);

/** The slots of one instance; `order` says when it came. */
const slotsOf = (order: number, count: number): readonly SequenceSlot[] => {
  const slots: SequenceSlot[] = [];
  const nothing = (): void => {};
  const batcher: SlotBatcher = { order, slots, isClosed: false, offer: nothing, withdraw: nothing, hurry: nothing, close: nothing };
  for (let index = 0; index < count; index++) slots.push(new SequenceSlot(index, batcher, kind));
  return slots;
};

/** Puts a call into a slot. */
const occupy = (slot: SequenceSlot | undefined): void => {
  new Observable((caller) => {
    const call = new Call({ request: makeRequest(), rows: 1, shapeKey: '', arrivedMs: 0, caller, holder: { cancel: () => {} } });
    slot?.put(call, new Sequence(1n, 0, false, keeper));
  }).subscribe();
};

const takeAll = (free: FreeSlots): (SequenceSlot | undefined)[] => {
  const taken = [free.take()];
  while (taken.at(-1) !== undefined) taken.push(free.take());
  return taken.slice(0, -1);
};

describe.each(['direct', 'oldest'] as const)('FreeSlots, %s', (strategy) => {
  it('gives out the lowest number first, among equals that of the oldest instance, however they came', () => {
    const [a, b, c] = [slotsOf(0, 2), slotsOf(1, 3), slotsOf(2, 1)];
    const free = new FreeSlots(strategy);
    for (const slot of [c[0], b[2], b[0], a[1], a[0], b[1]]) if (slot !== undefined) free.add(slot);
    expect(takeAll(free)).toEqual([a[0], b[0], c[0], a[1], b[1], b[2]]);
    expect(free.take()).toBeUndefined();
  });

  it('gives out one that comes back before those with higher numbers', () => {
    const [first, second, third] = slotsOf(0, 3);
    const free = new FreeSlots(strategy);
    for (const slot of [first, second, third]) if (slot !== undefined) free.add(slot);
    expect([free.take(), free.take()]).toEqual([first, second]);
    if (first !== undefined) free.add(first);
    expect(takeAll(free)).toEqual([first, third]);
  });

  it('gives out none that has been removed, and others all the same', () => {
    const [a, b] = [slotsOf(0, 2), slotsOf(1, 2)];
    const free = new FreeSlots(strategy);
    for (const slot of [...a, ...b]) free.add(slot);
    occupy(a[1]);
    const [gone, alsoGone] = [b[0], a[0]];
    if (gone === undefined || alsoGone === undefined) throw new Error('none');
    free.remove(gone);
    free.remove(gone);
    free.remove(alsoGone);
    expect(takeAll(free)).toEqual([a[1], b[1]]);
    // One of a number that was never seen.
    free.remove(slotsOf(0, 9)[8] ?? gone);
    expect(free.take()).toBeUndefined();
  });
});

describe('FreeSlots whose last calls still run', () => {
  const start = (strategy: 'direct' | 'oldest') => {
    const free = new FreeSlots(strategy);
    const slots = slotsOf(0, 3);
    const [first, second, third] = slots;
    if (first === undefined || second === undefined || third === undefined) throw new Error('none');
    occupy(first);
    occupy(second);
    for (const slot of slots) free.add(slot);
    return { free, first, second, third };
  };

  it('go by their numbers where those mean something to the model', () => {
    const { free, first, second, third } = start('direct');
    expect(takeAll(free)).toEqual([first, second, third]);
  });

  it('go last where numbers mean nothing, those that became free first before the others', () => {
    const { free, first, second, third } = start('oldest');
    expect(takeAll(free)).toEqual([third, first, second]);
  });

  it('go by their numbers again once the calls have ended', () => {
    const { free, first, second, third } = start('oldest');
    second.drop();
    free.cleared(second);
    free.cleared(second);
    expect(takeAll(free)).toEqual([second, third, first]);
  });

  it('are nobody’s once they are taken or removed: the end of their calls changes nothing', () => {
    const { free, first, second, third } = start('oldest');
    free.remove(second);
    free.cleared(second);
    expect(takeAll(free)).toEqual([third, first]);
    free.cleared(first);
    free.cleared(third);
    expect(free.take()).toBeUndefined();
  });
});
