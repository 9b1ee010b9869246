import { Subject, type Subscription } from 'rxjs';
import { bufferWhenFree } from '../../streams/flow/buffer-when-free.ts';
import type { Lease } from '../../streams/flow/leases.ts';
import type { Place } from '../../streams/flow/waiting-list.ts';
import type { Instance } from '../../streams/inference/backend.ts';
import type { OldestStrategy } from '../../streams/inference/model-spec.ts';
import { holdUntilQueued } from '../batching/hold-until-queued.ts';
import { planBatch } from '../batching/plan-batch.ts';
import type { Call } from '../call.ts';
import { type InstanceBatcher, type InstanceBatcherConfig, slotsOf } from './direct-batching.ts';
import { SequenceSlot } from './sequence-slot.ts';

export interface OldestConfig extends InstanceBatcherConfig {
  readonly strategy: OldestStrategy;
  /** No batch before so many requests are ready, the first time; 0 for none. */
  readonly holdUntilQueued: number;
}

/**
 * Batches of one instance in the oldest strategy: a slot is a candidacy, and the one request that each sequence has ready goes into a queue of
 * the instance's own, from which `planBatch` takes.
 */
export class OldestBatcher implements InstanceBatcher {
  readonly order: number;
  readonly slots: readonly SequenceSlot[];
  isClosed = false;
  readonly #config: OldestConfig;
  readonly #ready = new Subject<Call>();
  readonly #withdrawn = new Subject<Place<Call>>();
  readonly #free = new Subject<Lease<Instance>>();
  readonly #hurry = new Subject<void>();
  readonly #batching: Subscription;

  constructor(config: OldestConfig) {
    const { kind, strategy, scheduler, turnstile } = config;
    const { maxCandidateSequences, preferredBatchSizes, maxQueueDelayMs } = strategy;
    const plan = planBatch({ maxBatchSize: Math.max(1, kind.spec.maxBatchSize), preferredBatchSizes, maxQueueDelayMs });
    this.#config = config;
    this.order = config.order;
    this.slots = slotsOf(maxCandidateSequences, this, kind);
    this.#batching = this.#ready
      .pipe(
        bufferWhenFree<Call, Instance>({
          free$: this.#free,
          onQueued: (call, place) => {
            call.place = place;
          },
          withdrawn$: this.#withdrawn,
          hurry$: this.#hurry,
          turnstile,
          plan: config.holdUntilQueued > 0 ? holdUntilQueued(config.holdUntilQueued, plan) : plan,
          // Each slot has one call here at most.
          limit: maxCandidateSequences,
          scheduler,
          onRejected: () => config.fail(new Error(`more calls than candidates wait for an instance of model '${kind.spec.name}'`)),
          // Told by those who close it.
          onForgotten: () => {},
        }),
      )
      .subscribe({
        next: (granted) => {
          for (const { step } of granted.items) if (step instanceof SequenceSlot) config.begin(step);
          config.emit(granted);
        },
        error: config.fail,
      });
  }

  offer(slot: SequenceSlot): void {
    const call = slot.next;
    if (call === undefined || this.isClosed) return;
    this.#ready.next(call);
    if (slot.isAtEnd) this.#config.handOver(slot);
  }

  withdraw({ place }: Call): void {
    if (place !== undefined) this.#withdrawn.next(place);
  }

  lend(lease: Lease<Instance>): void {
    if (!this.isClosed) this.#free.next(lease);
  }

  hurry(): void {
    this.#hurry.next();
  }

  close(): void {
    this.isClosed = true;
    this.#batching.unsubscribe();
  }
}
