import { Observable, type Subscriber } from 'rxjs';
import type { Lease } from '../../src/streams/flow/leases.ts';

/** Leases that a test hands out, each good for one batch, also ahead of their subscriber. */
export class Supply<T> {
  readonly #resource: T;
  readonly #ahead: Lease<T>[] = [];
  #subscriber: Subscriber<Lease<T>> | undefined;
  /** Leases that the operator under test has and has neither released nor handed over. */
  held = 0;
  released = 0;

  constructor(resource: T) {
    this.#resource = resource;
  }

  readonly free$ = new Observable<Lease<T>>((subscriber) => {
    this.#subscriber = subscriber;
    for (const lease of this.#ahead.splice(0)) this.#give(lease);
  });

  add(count: number): void {
    for (let n = 0; n < count; n++) {
      const lease = this.#make();
      if (this.#subscriber === undefined) this.#ahead.push(lease);
      else if (!this.#subscriber.closed) this.#give(lease);
    }
  }

  /** A lease has come out of the operator with a batch. */
  handOver(): void {
    this.held--;
  }

  #give(lease: Lease<T>): void {
    this.held++;
    this.#subscriber?.next(lease);
  }

  #make(): Lease<T> {
    let isOpen = true;
    return {
      resource: this.#resource,
      onEnded: undefined,
      get isOpen() {
        return isOpen;
      },
      release: () => {
        if (!isOpen) return;
        isOpen = false;
        this.held--;
        this.released++;
      },
    };
  }
}
