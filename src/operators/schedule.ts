import type { Observable, OperatorFunction } from 'rxjs';
import type { BufferCounters, Granted } from '../streams/flow/buffer-when-free.ts';
import type { Scheduler } from '../streams/flow/clock.ts';
import { leases } from '../streams/flow/leases.ts';
import type { Place } from '../streams/flow/waiting-list.ts';
import type { Instance } from '../streams/inference/backend.ts';
import type { Log } from '../streams/inference/log.ts';
import type { ModelSpec } from '../streams/inference/model-spec.ts';
import type { BatchingChoices } from './batching/dynamic-batching.ts';
import { type DynamicBatchingConfig, dynamicBatching } from './batching/dynamic-batching.ts';
import type { Call } from './call.ts';
import type { OpenSequences } from './sequences/open-sequences.ts';
import { sequenceBatching } from './sequences/sequence-batching.ts';

export interface ScheduleConfig extends BatchingChoices {
  readonly spec: ModelSpec;
  /** Lives of the instances that take requests; each emits its instance once and ends with it. */
  readonly lives$: Observable<Observable<Instance>>;
  /** Calls whose callers have gone while they waited. */
  readonly withdrawn$: Observable<Place<Call>>;
  readonly scheduler: Scheduler;
  readonly log: Log;
  readonly counters: BufferCounters;
  /** Counts the sequences of a sequence model that take requests. */
  readonly openSequences?: OpenSequences;
  readonly onLane?: DynamicBatchingConfig['onLane'];
  /** Once true, a sequence model begins no sequence; those that have begun may end. */
  readonly isStopping?: () => boolean;
}

/** The scheduler that a model's config chooses: from calls to batches, each with the instance that runs it. */
export const schedule = ({ spec, lives$, ...config }: ScheduleConfig): OperatorFunction<Call, Granted<Call, Instance>> => {
  const { sequenceBatching: batching } = spec;
  if (batching !== undefined) return sequenceBatching({ ...config, spec, batching, lives$, open: config.openSequences });
  const isStrict = spec.dynamicBatching?.isStrict ?? false;
  const free$ = lives$.pipe(leases({ capacity: (instance) => (isStrict ? 1 : instance.capacity) }));
  return dynamicBatching({ ...config, spec, free$ });
};
