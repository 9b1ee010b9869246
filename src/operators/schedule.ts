import type { Observable, OperatorFunction } from 'rxjs';
import type { BufferCounters, Granted } from '../streams/flow/buffer-when-free.ts';
import type { Scheduler } from '../streams/flow/clock.ts';
import { leases } from '../streams/flow/leases.ts';
import type { Place } from '../streams/flow/waiting-list.ts';
import type { Instance } from '../streams/inference/backend.ts';
import type { ModelSpec } from '../streams/inference/model-spec.ts';
import type { Call } from './call.ts';
import { dynamicBatching } from './dynamic-batching.ts';

export interface ScheduleConfig {
  readonly spec: ModelSpec;
  /** Lives of the instances that take requests; each emits its instance once and ends with it. */
  readonly lives$: Observable<Observable<Instance>>;
  /** Calls whose callers have gone while they waited. */
  readonly withdrawn$: Observable<Place<Call>>;
  readonly scheduler: Scheduler;
  readonly counters: BufferCounters;
}

/** The scheduler that a model's config chooses: from calls to batches, each with the instance that runs it. */
export const schedule = ({ spec, lives$, ...config }: ScheduleConfig): OperatorFunction<Call, Granted<Call, Instance>> => {
  const isStrict = spec.dynamicBatching?.isStrict ?? false;
  const free$ = lives$.pipe(leases({ capacity: (instance) => (isStrict ? 1 : instance.capacity) }));
  return dynamicBatching({ ...config, spec, free$ });
};
