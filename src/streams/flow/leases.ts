import type { OperatorFunction } from 'rxjs';
import { Observable } from 'rxjs';

/** The right to use a resource once. */
export interface Lease<T> {
  readonly resource: T;
  /** False once it was released or the resource has ended. */
  readonly isOpen: boolean;
  /** Set by the holder: called once if the resource ends before the release, with the error that it ended with, or undefined. */
  onEnded: ((error: unknown) => void) | undefined;
  /** Gives the permit back. Safe to call twice, and after the end of the resource. */
  release(): void;
}

export interface LeasesConfig<T> {
  /** How many permits a resource has: how many holders may use it at once. */
  readonly capacity: (resource: T) => number;
}

class Permit<T> implements Lease<T> {
  readonly resource: T;
  readonly #life: Life<T>;
  onEnded: ((error: unknown) => void) | undefined;

  constructor(resource: T, life: Life<T>) {
    this.resource = resource;
    this.#life = life;
  }

  get isOpen(): boolean {
    return this.#life.hasLent(this);
  }

  release(): void {
    if (this.#life.takeBack(this)) this.#life.onReleased(this);
  }
}

/** One resource from its emission to its end. */
class Life<T> {
  /** As few as the resource's capacity. No Set: one that changes all the time makes its tables anew, and each old one keeps the next alive. */
  readonly #lent: Permit<T>[] = [];
  readonly onReleased: (permit: Permit<T>) => void;

  constructor(onReleased: (permit: Permit<T>) => void) {
    this.onReleased = onReleased;
  }

  lend(resource: T): Permit<T> {
    const permit = new Permit(resource, this);
    this.#lent.push(permit);
    return permit;
  }

  hasLent(permit: Permit<T>): boolean {
    return this.#lent.includes(permit);
  }

  /** False for one that is not lent, or no longer. */
  takeBack(permit: Permit<T>): boolean {
    const index = this.#lent.indexOf(permit);
    if (index >= 0) this.#lent.splice(index, 1);
    return index >= 0;
  }

  end(error: unknown): void {
    for (const permit of this.#lent.splice(0)) permit.onEnded?.(error);
  }
}

/**
 * Lends resources that come and go. Each inner Observable is one life of one resource: it emits the resource once, when it is ready, and its
 * completion or error is the end of the resource.
 *
 * emits when      a resource is ready, `capacity` times; again for each permit that is released while its resource lives
 * withdraws       the permits of a resource that has ended, those in hand too
 * errors when     the source errors; the error of a life ends that life only
 * completes when  the source and all lives have completed
 * on unsubscribe  ends every life
 */
export const leases =
  <T>({ capacity }: LeasesConfig<T>): OperatorFunction<Observable<T>, Lease<T>> =>
  (source) =>
    new Observable((subscriber) => {
      const ready: Permit<T>[] = [];
      let isEmitting = false;
      let sourceIsDone = false;
      let lives = 0;

      // A permit may come back while another is being handed out: the loop that runs already emits it.
      const emitReady = (): void => {
        if (isEmitting) return;
        isEmitting = true;
        for (let permit = ready.shift(); permit !== undefined; permit = ready.shift()) {
          if (permit.isOpen) subscriber.next(permit);
        }
        isEmitting = false;
      };

      const completeWhenDone = (): void => {
        if (sourceIsDone && lives === 0) subscriber.complete();
      };

      const open = (life$: Observable<T>): void => {
        const life = new Life<T>((released) => {
          ready.push(life.lend(released.resource));
          emitReady();
        });
        lives++;
        const end = (error: unknown): void => {
          lives--;
          life.end(error);
          completeWhenDone();
        };
        const living = life$.subscribe({
          next: (resource) => {
            const permits = capacity(resource);
            for (let n = 0; n < permits; n++) ready.push(life.lend(resource));
            emitReady();
          },
          error: end,
          complete: () => end(undefined),
        });
        living.add(() => life.end(undefined));
        subscriber.add(living);
      };

      subscriber.add(
        source.subscribe({
          next: open,
          error: (error) => subscriber.error(error),
          complete: () => {
            sourceIsDone = true;
            completeWhenDone();
          },
        }),
      );
    });
