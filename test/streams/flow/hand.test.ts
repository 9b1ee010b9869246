import { describe, expect, it } from 'vitest';
import { Hand } from '../../../src/streams/flow/hand.ts';

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

  it('releases all it has', () => {
    const hand = new Hand<string>();
    const all = ['a', 'b', 'a'].map(makeLease);
    for (const lease of all) hand.push(lease);
    hand.releaseAll();
    expect(all.map(({ isOpen }) => isOpen)).toEqual([false, false, false]);
  });
});
