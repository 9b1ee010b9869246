import { Observable } from 'rxjs';
import type { ShareCounters } from '../../streams/flow/share-permits.ts';
import { noShareCounters, SharePermits } from '../../streams/flow/share-permits.ts';
import type { Turnstile } from '../../streams/flow/turnstile.ts';
import type { Batch, Instance, Part, Placement } from '../../streams/inference/backend.ts';
import { InferError } from '../../streams/inference/error.ts';
import type { Log } from '../../streams/inference/log.ts';
import type { Seat } from './plan-grants.ts';
import { planGrants } from './plan-grants.ts';
import type { ResourceLimit, ResourcePool } from './resource-pools.ts';
import { ResourcePools } from './resource-pools.ts';

export interface RateLimiterConfig {
  /** Empty: there is as much of each resource as the one instance takes that takes most. Otherwise there is nothing of what is not listed. */
  readonly resources: readonly ResourceLimit[];
  readonly log: Log;
}

/** The instances of one model in the rate limiter. */
export interface Registration {
  readonly turnstile: Turnstile<Instance>;
  /** Batches, each beside a free instance: never more wait than the model has instances. */
  readonly counters: Readonly<ShareCounters>;
  /** A life of the instance of that number, of the placements given: from here on it is known at the turnstile, and runs one batch at a time. */
  seat(placement: number, life$: Observable<Instance>): Observable<Instance>;
  /** Nothing is granted from here on; shares that are held come back with their leases. */
  close(): void;
}

/** With a second batch lying ready an instance would hold its share for both. */
class SeatedInstance implements Instance {
  readonly capacity = 1;
  readonly #instance: Instance;

  constructor(instance: Instance) {
    this.#instance = instance;
  }

  run(batch: Batch): Observable<Part> {
    return this.#instance.run(batch);
  }

  isReady(): boolean {
    return this.#instance.isReady?.() ?? true;
  }
}

/** An instance's turns are its own through all its lives. */
interface SeatOfModel extends Seat {
  instance: Instance | undefined;
}

/**
 * Grants batches their turn within limits of resources that the instances of all models share: `--rate-limit=execution_count`. What each
 * model runs next stands for the instance with the lowest executions × priority, and of all models only the lowest is tried.
 */
export class RateLimiter {
  readonly #log: Log;
  readonly #permits = new SharePermits<Seat>({ plan: planGrants });
  readonly #pools: ResourcePools;
  readonly #seats = new Set<Seat>();

  constructor({ resources, log }: RateLimiterConfig) {
    this.#pools = new ResourcePools(resources);
    this.#log = log;
  }

  /**
   * Takes a model's instances in, passive ones left out, and what they need into the limits.
   * @throws InferError INVALID_ARGUMENT when one of them could never run, or a name is both a global resource and a device's
   */
  register(placements: readonly Placement[]): Registration {
    const seats = placements.map((placement): SeatOfModel | undefined =>
      placement.isPassive
        ? undefined
        : { shares: this.#pools.sharesOf(placement), priority: placement.priority, turns: 0, isUp: false, instance: undefined },
    );
    const active = seats.filter((seat) => seat !== undefined);
    for (const seat of active) this.#seats.add(seat);
    const changed = this.#pools.settle(this.#seats);
    const fault = this.#pools.findFault();
    if (fault !== undefined) {
      this.#leave(active);
      throw new InferError('INVALID_ARGUMENT', fault);
    }
    this.#onChanged(changed);
    const counters = noShareCounters();
    return {
      counters,
      turnstile: this.#permits.turnstile({ whoOf: (instance: Instance) => active.find((seat) => seat.instance === instance), counters }),
      seat: (placement, life$) => {
        const seat = seats[placement];
        return seat === undefined ? life$ : this.#life(seat, life$);
      },
      close: () => this.#leave(active),
    };
  }

  #life(seat: SeatOfModel, life$: Observable<Instance>): Observable<Instance> {
    return new Observable((subscriber) => {
      // Its leases have ended by then: whoever waited for them makes room.
      subscriber.add(() => {
        seat.isUp = false;
        seat.instance = undefined;
        this.#permits.grant();
      });
      return life$.subscribe({
        next: (instance) => {
          const seated = new SeatedInstance(instance);
          seat.instance = seated;
          seat.isUp = this.#seats.has(seat);
          // Whoever asked without it asks anew, and keeps its place meanwhile.
          this.#permits.change(() => subscriber.next(seated));
        },
        error: (error) => subscriber.error(error),
        complete: () => subscriber.complete(),
      });
    });
  }

  #leave(seats: readonly SeatOfModel[]): void {
    for (const seat of seats) {
      seat.isUp = false;
      this.#seats.delete(seat);
    }
    this.#onChanged(this.#pools.settle(this.#seats));
  }

  #onChanged(pools: readonly ResourcePool[]): void {
    for (const { name, device, limit } of pools) {
      this.#log.verbose(1, `rate limiter: ${limit} of resource '${name}' ${device === undefined ? 'in all' : `on device ${device}`}`);
    }
    this.#permits.grant();
  }
}
