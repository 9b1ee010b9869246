import type { Observable, OperatorFunction } from 'rxjs';
import type { BufferCounters, Granted } from '../streams/flow/buffer-when-free.ts';
import { bufferWhenFree } from '../streams/flow/buffer-when-free.ts';
import type { Scheduler } from '../streams/flow/clock.ts';
import type { Lease } from '../streams/flow/leases.ts';
import type { Place } from '../streams/flow/waiting-list.ts';
import type { Instance } from '../streams/inference/backend.ts';
import { InferError, requestPrefix } from '../streams/inference/error.ts';
import type { ModelSpec } from '../streams/inference/model-spec.ts';
import type { Call } from './call.ts';
import { planBatch, planSingle } from './plan-batch.ts';
import { stoppingError } from './stopping-error.ts';

export interface DynamicBatchingConfig {
  readonly spec: Pick<ModelSpec, 'dynamicBatching' | 'maxBatchSize' | 'maxQueueSize'>;
  readonly free$: Observable<Lease<Instance>>;
  /** Calls whose callers have gone. */
  readonly withdrawn$: Observable<Place<Call>>;
  readonly scheduler: Scheduler;
  readonly counters: BufferCounters;
}

/**
 * A model's queue: gathers calls into batches for instances that are free; without dynamic batching each batch is one call.
 *
 * emits when      see `bufferWhenFree`, with `planBatch` or `planSingle`
 * rejects         with UNAVAILABLE, reason REJECTED, a call that finds `maxQueueSize` others waiting
 * on unsubscribe  fails what waits with UNAVAILABLE
 */
export const dynamicBatching = ({
  spec,
  free$,
  withdrawn$,
  scheduler,
  counters,
}: DynamicBatchingConfig): OperatorFunction<Call, Granted<Call, Instance>> =>
  bufferWhenFree({
    free$,
    onQueued: (call, place) => {
      call.place = place;
    },
    withdrawn$,
    plan:
      spec.dynamicBatching === undefined
        ? planSingle
        : planBatch({ maxBatchSize: Math.max(1, spec.maxBatchSize), ...spec.dynamicBatching }),
    limit: spec.maxQueueSize,
    scheduler,
    counters,
    onRejected: (call) =>
      call.fail(new InferError('UNAVAILABLE', `${requestPrefix(call.request.id)}Exceeds maximum queue size`, { reason: 'REJECTED' })),
    onForgotten: (call) => call.fail(stoppingError(call.request)),
  });
