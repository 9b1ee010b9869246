import type { Observable, OperatorFunction } from 'rxjs';
import { defer } from 'rxjs';
import type { BufferCounters, Granted, Plan } from '../../streams/flow/buffer-when-free.ts';
import { bufferWhenFree } from '../../streams/flow/buffer-when-free.ts';
import type { Scheduler } from '../../streams/flow/clock.ts';
import type { Waiting } from '../../streams/flow/lane.ts';
import type { Lease } from '../../streams/flow/leases.ts';
import { PriorityLane, type PriorityLaneConfig } from '../../streams/flow/priority-lane.ts';
import type { Turnstile } from '../../streams/flow/turnstile.ts';
import type { Place } from '../../streams/flow/waiting-list.ts';
import type { Instance } from '../../streams/inference/backend.ts';
import { InferError, requestPrefix } from '../../streams/inference/error.ts';
import type { Decision } from '../../streams/inference/infer.ts';
import type { ModelSpec } from '../../streams/inference/model-spec.ts';
import type { Call } from '../call.ts';
import { stoppingError } from '../stopping-error.ts';
import { holdUntilQueued } from './hold-until-queued.ts';
import { planBatch, planSingle } from './plan-batch.ts';
import type { StrategyPlanConfig } from './plan-by-strategy.ts';
import { planByStrategy } from './plan-by-strategy.ts';
import { queueLimit, queuePolicy } from './queue-policy.ts';

/** What may be changed about how a model with dynamic batching batches, besides its config. */
export interface BatchingChoices {
  /** A user's own rule, and the log that hears of its faults. */
  readonly strategy?: Pick<StrategyPlanConfig, 'strategy' | 'log'> | undefined;
  /** No batch before so many wait at once, the first time; 0 for none. */
  readonly holdUntilQueued?: number;
  /** Nor, with direct sequences, before so many requests wait in sequences that have no slot. */
  readonly holdUntilBacklogged?: number;
  /** Has to let an instance through before it runs a batch, of models without dynamic batching too. */
  readonly turnstile?: Turnstile<Instance> | undefined;
}

export interface DynamicBatchingConfig extends BatchingChoices {
  readonly spec: Pick<ModelSpec, 'name' | 'version' | 'dynamicBatching' | 'maxBatchSize' | 'maxQueueSize'>;
  readonly free$: Observable<Lease<Instance>>;
  /** Calls whose callers have gone. */
  readonly withdrawn$: Observable<Place<Call>>;
  readonly scheduler: Scheduler;
  readonly counters: BufferCounters;
  /** Told of the queue of a model with levels or time-outs, once it is there. */
  readonly onLane?: ((lane: PriorityLane<Call>) => void) | undefined;
}

/** One plan for one queue: it may remember. */
const choosePlan = ({ spec, strategy, holdUntilQueued: held = 0 }: DynamicBatchingConfig): Decision<Waiting<Call>, Plan> => {
  if (spec.dynamicBatching === undefined) return planSingle;
  const limits = { ...spec.dynamicBatching, maxBatchSize: Math.max(1, spec.maxBatchSize) };
  const model = `model '${spec.name}' version ${spec.version}`;
  const plan = strategy === undefined ? planBatch(limits) : planByStrategy({ ...strategy, limits, model });
  return held > 0 ? holdUntilQueued(held, plan) : plan;
};

/**
 * A model's queue: gathers calls into batches for instances that are free; without dynamic batching each batch is one call.
 *
 * emits when      see `bufferWhenFree`, with `planBatch` or `planSingle`; the order is that of arrival, or of the model's priority levels
 * rejects         with UNAVAILABLE, reason REJECTED, a call that finds its level or the queue full, and one whose time-out is over, when it is
 * on unsubscribe  fails what waits with UNAVAILABLE
 */
export const dynamicBatching = (config: DynamicBatchingConfig): OperatorFunction<Call, Granted<Call, Instance>> => {
  const { spec, free$, withdrawn$, scheduler, counters, turnstile, onLane } = config;
  const policy = spec.dynamicBatching === undefined ? undefined : queuePolicy(spec.dynamicBatching);
  return (calls$) =>
    defer(() =>
      calls$.pipe(
        bufferWhenFree({
          free$,
          onQueued: (call, place) => {
            call.place = place;
          },
          withdrawn$,
          lane: policy === undefined ? undefined : () => makeLane(policy, onLane),
          turnstile,
          plan: choosePlan(config),
          limit: queueLimit(spec),
          scheduler,
          counters,
          onRejected: (call) => call.fail(rejection(`${requestPrefix(call.request.id)}Exceeds maximum queue size`)),
          onExpired: (call) => call.fail(rejection('Request timeout expired')),
          onForgotten: (call) => call.fail(stoppingError(call.request)),
        }),
      ),
    );
};

const makeLane = (policy: PriorityLaneConfig<Call>, onLane: DynamicBatchingConfig['onLane']): PriorityLane<Call> => {
  const lane = new PriorityLane(policy);
  onLane?.(lane);
  return lane;
};

const rejection = (message: string): InferError => new InferError('UNAVAILABLE', message, { reason: 'REJECTED' });
