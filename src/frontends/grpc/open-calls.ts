import { type Place, WaitingList } from '../../streams/flow/waiting-list.ts';

/** A call from its headers until it is over. */
export interface OpenCall {
  readonly requestsInFlight: number;
  /** Answers that wait for the client. */
  readonly outboxBytes: number;
  /** Where it stands among the others. */
  place: Place<OpenCall> | undefined;
  /** Takes nothing new and ends once what it has begun is answered. */
  shutDown(): void;
}

export interface CallCounters {
  /** Calls in flight, of all kinds. */
  readonly calls: number;
  readonly requestsInFlight: number;
  /** Answers that wait for slow readers. */
  readonly outboxBytes: number;
}

/** The calls in flight of one server. */
export class OpenCalls {
  readonly #calls = new WaitingList<OpenCall>();
  #isShuttingDown = false;
  #onEmpty: (() => void) | undefined;

  get isShuttingDown(): boolean {
    return this.#isShuttingDown;
  }

  counters(): CallCounters {
    let requestsInFlight = 0;
    let outboxBytes = 0;
    for (const call of this.#calls) {
      requestsInFlight += call.requestsInFlight;
      outboxBytes += call.outboxBytes;
    }
    return { calls: this.#calls.length, requestsInFlight, outboxBytes };
  }

  add(call: OpenCall): void {
    call.place = this.#calls.push(call);
  }

  delete(call: OpenCall): void {
    if (call.place !== undefined) this.#calls.remove(call.place);
    if (this.#calls.length === 0) this.#onEmpty?.();
  }

  /** Resolves when the last call has ended; later ones are refused meanwhile. */
  shutDown(): Promise<void> {
    this.#isShuttingDown = true;
    return new Promise((resolve) => {
      this.#onEmpty = resolve;
      for (const call of [...this.#calls]) call.shutDown();
      if (this.#calls.length === 0) resolve();
    });
  }
}
