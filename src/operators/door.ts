import { Observable } from 'rxjs';
import type { Infer } from '../streams/inference/infer.ts';
import type { InferRequest } from '../streams/inference/request.ts';
import { stoppingError } from './stopping-error.ts';

/** Counts the requests inside of a model, and shuts when the model ends. Who holds it keeps the model for requests of other models. */
export class Door {
  readonly #onDrained: (() => void)[] = [];
  #isClosed = false;
  #inside = 0;
  #holders = 0;

  /** A request of a model that may hold this one, such as an ensemble, is let in as long as anyone holds it: what has begun is to end. */
  isOpenTo({ caller }: InferRequest): boolean {
    return !this.#isClosed || (this.#holders > 0 && caller !== undefined);
  }

  enter(): void {
    this.#inside++;
  }

  leave(): void {
    this.#inside--;
    this.#tellDrained();
  }

  /** Until `release` the model is not drained. */
  hold(): void {
    this.#holders++;
  }

  release(): void {
    this.#holders--;
    this.#tellDrained();
  }

  /** From its subscription to its end, in whatever way, a request counts as inside. */
  around(next: Infer): Infer {
    return (request) =>
      new Observable((caller) => {
        if (!this.isOpenTo(request)) {
          caller.error(stoppingError(request));
          return undefined;
        }
        this.enter();
        const asking = next(request).subscribe(caller);
        return () => {
          asking.unsubscribe();
          this.leave();
        };
      });
  }

  /** From here on requests get UNAVAILABLE. */
  close(): void {
    this.#isClosed = true;
  }

  /** Closes, and resolves when nobody is inside or holds it. */
  drain(): Promise<void> {
    this.close();
    if (this.#isEmpty) return Promise.resolve();
    return new Promise((resolve) => this.#onDrained.push(resolve));
  }

  get #isEmpty(): boolean {
    return this.#inside === 0 && this.#holders === 0;
  }

  #tellDrained(): void {
    if (!this.#isEmpty) return;
    for (const resolve of this.#onDrained.splice(0)) resolve();
  }
}
