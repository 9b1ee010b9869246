import { describe, expect, it, vi } from 'vitest';
import type { Lease } from '../../../src/streams/flow/leases.ts';
import type { Turnstile } from '../../../src/streams/flow/turnstile.ts';
import { TurnstileHand } from '../../../src/streams/flow/turnstile-hand.ts';

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

/** Grants when a test says so. */
class HandTurnstile implements Turnstile<string> {
  readonly questions: string[] = [];
  #grant: ((resource: string) => void) | undefined;
  readonly granted: Lease<string>[] = [];
  grantsAtOnce = false;

  ask(candidates: readonly Lease<string>[], onGranted: (lease: Lease<string>) => void): () => void {
    const names = candidates.map(({ resource }) => resource).join('');
    this.questions.push(names);
    this.#grant = (resource) => {
      this.#grant = undefined;
      const chosen = candidates.find((lease) => lease.resource === resource);
      if (chosen === undefined) throw new Error(`${resource} was not asked for`);
      this.granted.push(chosen);
      onGranted(chosen);
    };
    if (this.grantsAtOnce) this.#grant(names.charAt(0));
    return () => {
      this.#grant = undefined;
    };
  }

  get isAsked(): boolean {
    return this.#grant !== undefined;
  }

  grant(resource: string): void {
    if (this.#grant === undefined) throw new Error('nobody asks');
    this.#grant(resource);
  }
}

const setUp = (resources: string) => {
  const turnstile = new HandTurnstile();
  const calls: string[] = [];
  const hand = new TurnstileHand<string>(turnstile, () => calls.push('granted'));
  const leases = [...resources].map(makeLease);
  for (const lease of leases) hand.push(lease);
  return { turnstile, hand, calls, leases };
};

describe('TurnstileHand', () => {
  it('asks when there is work, once, about one lease of each resource, and gives what is granted', () => {
    const { turnstile, hand, calls } = setUp('abb');
    expect(turnstile.isAsked).toBe(false);
    expect([hand.take(), hand.take()]).toEqual([undefined, undefined]);
    expect(turnstile.questions).toEqual(['ba']);
    turnstile.grant('a');
    expect(calls).toEqual(['granted']);
    expect(hand.take()?.resource).toBe('a');
    expect(turnstile.questions).toEqual(['ba']);
    expect(hand.take()).toBeUndefined();
    expect(turnstile.questions).toEqual(['ba', 'b']);
  });

  it('gives what is granted at once', () => {
    const { turnstile, hand } = setUp('ab');
    turnstile.grantsAtOnce = true;
    expect([hand.take(), hand.take()].map((lease) => lease?.resource)).toEqual(['a', 'b']);
    expect([hand.isEmpty, hand.take()]).toEqual([true, undefined]);
  });

  it('asks anew when another resource comes, and not for another lease of one that it has asked about', () => {
    const { turnstile, hand } = setUp('a');
    hand.take();
    hand.push(makeLease('a'));
    expect(turnstile.isAsked).toBe(true);
    hand.push(makeLease('b'));
    expect(turnstile.isAsked).toBe(false);
    hand.take();
    expect(turnstile.questions).toEqual(['a', 'ab']);
    hand.push(makeLease('b'));
    expect(turnstile.isAsked).toBe(true);
  });

  it('withdraws its question when there is no work any more', () => {
    const { turnstile, hand } = setUp('a');
    hand.take();
    hand.rest();
    expect([turnstile.isAsked, hand.isEmpty]).toEqual([false, false]);
  });

  it('gives back what was granted when there is no work for it any more', () => {
    const { turnstile, hand, leases } = setUp('a');
    hand.take();
    turnstile.grant('a');
    expect(hand.isEmpty).toBe(false);
    hand.rest();
    expect([hand.isEmpty, leases[0]?.isOpen]).toEqual([true, false]);
  });

  it('asks about others when the resource that was granted has ended', () => {
    const { turnstile, hand, leases } = setUp('ab');
    hand.take();
    turnstile.grant('a');
    const [lease] = leases;
    if (lease === undefined) throw new Error('none');
    lease.isOpen = false;
    const release = vi.spyOn(lease, 'release');
    expect(hand.take()).toBeUndefined();
    expect(turnstile.questions).toEqual(['ab', 'b']);
    // What was granted beside the resource goes back all the same.
    expect(release).toHaveBeenCalledOnce();
  });

  it('gives back what is granted to a question that it has withdrawn', () => {
    const grants: (() => void)[] = [];
    const turnstile: Turnstile<string> = {
      ask: ([lease], onGranted) => {
        if (lease !== undefined) grants.push(() => onGranted(lease));
        return () => {};
      },
    };
    let isTold = false;
    const hand = new TurnstileHand<string>(turnstile, () => {
      isTold = true;
    });
    const lease = makeLease('a');
    hand.push(lease);
    hand.take();
    hand.rest();
    grants[0]?.();
    expect([lease.isOpen, hand.isEmpty, isTold]).toEqual([false, true, false]);
  });

  it('releases all it has, and withdraws its question', () => {
    const { turnstile, hand, leases } = setUp('aab');
    hand.take();
    hand.releaseAll();
    expect(leases.map(({ isOpen }) => isOpen)).toEqual([false, false, false]);
    expect(turnstile.isAsked).toBe(false);
  });
});
