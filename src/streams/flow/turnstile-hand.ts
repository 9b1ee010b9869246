import { Hand } from './hand.ts';
import type { Lease } from './leases.ts';
import type { Permits } from './permits.ts';
import type { Turnstile } from './turnstile.ts';

interface Question<Resource> {
  readonly candidates: readonly Lease<Resource>[];
  withdraw: () => void;
}

/**
 * Permits that a turnstile has to let through, one at a time. It is asked when there is work, about every resource that has a permit here, and
 * anew when a resource comes that it was not asked about. What it grants is given back if there is no work for it any more.
 */
export class TurnstileHand<Resource> implements Permits<Resource> {
  readonly #hand = new Hand<Resource>();
  readonly #turnstile: Turnstile<Resource>;
  readonly #onGranted: () => void;
  #question: Question<Resource> | undefined;
  #granted: Lease<Resource> | undefined;

  /** `onGranted` is called when `take` has something to give that it had not when it was asked. */
  constructor(turnstile: Turnstile<Resource>, onGranted: () => void) {
    this.#turnstile = turnstile;
    this.#onGranted = onGranted;
  }

  get isEmpty(): boolean {
    return this.#granted === undefined && this.#hand.isEmpty;
  }

  push(lease: Lease<Resource>): void {
    this.#hand.push(lease);
    const isKnown = this.#question?.candidates.some(({ resource, isOpen }) => isOpen && resource === lease.resource);
    if (isKnown === false) this.#withdraw();
  }

  take(): Lease<Resource> | undefined {
    if (this.#granted === undefined && this.#question === undefined) this.#ask();
    const granted = this.#granted;
    this.#granted = undefined;
    if (granted === undefined || granted.isOpen) return granted;
    // Its resource has ended since; there may be others.
    granted.release();
    return this.take();
  }

  rest(): void {
    this.#withdraw();
    const granted = this.#granted;
    this.#granted = undefined;
    granted?.release();
  }

  releaseAll(): void {
    this.rest();
    this.#hand.releaseAll();
  }

  #ask(): void {
    const candidates = this.#hand.candidates();
    if (candidates.length === 0) return;
    const question: Question<Resource> = { candidates, withdraw: () => {} };
    this.#question = question;
    const withdraw = this.#turnstile.ask(candidates, (lease) => this.#grant(question, lease));
    question.withdraw = withdraw;
  }

  #grant(question: Question<Resource>, lease: Lease<Resource>): void {
    const chosen = question.candidates.find(({ resource }) => resource === lease.resource);
    if (chosen !== undefined) this.#hand.remove(chosen);
    if (this.#question !== question) {
      lease.release();
      return;
    }
    this.#question = undefined;
    this.#granted = lease;
    this.#onGranted();
  }

  #withdraw(): void {
    const question = this.#question;
    this.#question = undefined;
    question?.withdraw();
  }
}
