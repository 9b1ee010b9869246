import type { Demand } from '../../streams/flow/demand.ts';
import type { InferRequest } from '../../streams/inference/request.ts';

/** Somebody who waits for the answers of a run. */
export interface DemandingAsker {
  readonly request: InferRequest;
}

/**
 * The room of all who wait for the answers of one run: open while any of them has some, so that none keeps the others waiting. Whoever has none
 * refuses what comes.
 */
export class SharedDemand implements Demand {
  onOpen: (() => void) | undefined;
  /** As they are now. */
  readonly #askers: Iterable<DemandingAsker>;

  constructor(askers: Iterable<DemandingAsker>) {
    this.#askers = askers;
  }

  get isOpen(): boolean {
    let isAnyone = false;
    for (const { request } of this.#askers) {
      if (request.demand?.isOpen ?? true) return true;
      isAnyone = true;
    }
    return !isAnyone;
  }

  /** One has come. */
  add({ request }: DemandingAsker): void {
    if (request.demand !== undefined) request.demand.onOpen = this.reopen;
    this.reopen();
  }

  /** One has gone, or has room again. */
  readonly reopen = (): void => {
    if (this.isOpen) this.onOpen?.();
  };
}
