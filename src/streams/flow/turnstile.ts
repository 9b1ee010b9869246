import type { Lease } from './leases.ts';

/** Lets through who has work for a resource in hand, where it takes more than the resource itself: a share of something that many use. */
export interface Turnstile<Resource> {
  /**
   * Asks for one of `candidates`, all open. `onGranted` is called once, now or later, with a lease that stands for the chosen one; whoever
   * releases it gives back the share and the resource. Returns what withdraws the question; after the grant that means nothing.
   */
  ask(candidates: readonly Lease<Resource>[], onGranted: (lease: Lease<Resource>) => void): () => void;
}
