import { describe, expect, it } from 'vitest';
import { Hand } from '../../../src/streams/flow/hand.ts';
import { collectGarbage } from '../../support/collect-garbage.ts';

const makeLease = (resource: string) => {
  const lease = {
    resource,
    isOpen: true,
    onEnded: undefined,
    release: () => {
      lease.isOpen = false;
    },
  };
  return lease;
};

describe('Hand', () => {
  it('gives out the resource of which it has most', () => {
    const hand = new Hand<string>();
    for (const resource of ['a', 'b', 'b', 'b', 'a']) hand.push(makeLease(resource));
    expect(Array.from({ length: 6 }, () => hand.take()?.resource)).toEqual(['b', 'a', 'b', 'a', 'b', undefined]);
    expect(hand.isEmpty).toBe(true);
  });

  it('has nothing of a resource that has ended', () => {
    const hand = new Hand<string>();
    const ended = [makeLease('a'), makeLease('a')];
    for (const lease of ended) hand.push(lease);
    for (const lease of ended) lease.release();
    expect(hand.isEmpty).toBe(true);
    hand.push(makeLease('b'));
    expect([hand.take()?.resource, hand.take()?.resource]).toEqual(['b', undefined]);
  });

  it('offers one open lease of each resource, first that of which it has most', () => {
    const hand = new Hand<string>();
    const leases = ['a', 'b', 'b', 'c'].map(makeLease);
    for (const lease of leases) hand.push(lease);
    leases[3]?.release();
    expect(hand.candidates()).toEqual([leases[2], leases[0]]);
  });

  it('takes out what it is told to, and nothing else', () => {
    const hand = new Hand<string>();
    const [one, other, stranger] = [makeLease('a'), makeLease('a'), makeLease('b')];
    for (const lease of [one, other]) hand.push(lease);
    hand.remove(makeLease('a'));
    hand.remove(stranger);
    hand.remove(one);
    expect([hand.take(), hand.take()]).toEqual([other, undefined]);
  });

  it('lets go of a resource that has ended when another comes', async () => {
    const hand = new Hand<object>();
    const ended = (): WeakRef<object> => {
      const resource = {};
      const lease = { resource, isOpen: true, onEnded: undefined, release: () => {} };
      hand.push(lease);
      lease.isOpen = false;
      return new WeakRef(resource);
    };
    const gone = ended();
    hand.push({ resource: {}, isOpen: true, onEnded: undefined, release: () => {} });
    await collectGarbage();
    expect([gone.deref(), hand.isEmpty]).toEqual([undefined, false]);
  });

  it('releases all it has', () => {
    const hand = new Hand<string>();
    const all = ['a', 'b', 'a'].map(makeLease);
    for (const lease of all) hand.push(lease);
    hand.releaseAll();
    expect(all.map(({ isOpen }) => isOpen)).toEqual([false, false, false]);
  });
});
