import type { DynamicBatching, QueuePolicy } from '../../streams/inference/model-spec.ts';
import type { ConfigDynamicBatching, ConfigQueuePolicy } from './model-config.ts';

/** Ascending, each size once. */
export const ascending = (sizes: readonly number[]): readonly number[] => [...new Set(sizes)].toSorted((a, b) => a - b);

const compilePolicy = (policy: ConfigQueuePolicy | undefined, defaultMaxQueueSize: number): QueuePolicy => ({
  timeoutAction: policy?.timeout_action ?? 'REJECT',
  defaultTimeoutMs: Number(policy?.default_timeout_microseconds ?? 0) / 1000,
  allowTimeoutOverride: policy?.allow_timeout_override ?? false,
  maxQueueSize: policy?.max_queue_size || defaultMaxQueueSize,
});

/** Whether the policy asks for anything that shows only in the queue. */
const isLimiting = (policy: ConfigQueuePolicy | undefined): boolean =>
  policy !== undefined && (BigInt(policy.default_timeout_microseconds) > 0n || policy.allow_timeout_override || policy.max_queue_size > 0);

/** Turns `dynamic_batching` into what the batcher needs. Policies and a default of levels that there are not count for nothing. */
export const compileBatching = (batching: ConfigDynamicBatching, defaultMaxQueueSize: number): DynamicBatching => {
  const priorityLevels = BigInt(batching.priority_levels);
  const policies = priorityLevels === 0n ? [] : Object.entries(batching.priority_queue_policy);
  return {
    preferredBatchSizes: ascending(batching.preferred_batch_size),
    maxQueueDelayMs: Number(batching.max_queue_delay_microseconds) / 1000,
    preserveOrdering: batching.preserve_ordering,
    priorityLevels,
    defaultPriorityLevel: priorityLevels === 0n ? 0n : BigInt(batching.default_priority_level),
    defaultQueuePolicy: compilePolicy(batching.default_queue_policy, defaultMaxQueueSize),
    queuePolicies: new Map(policies.map(([level, policy]) => [BigInt(level), compilePolicy(policy, defaultMaxQueueSize)])),
    isStrict: priorityLevels > 0n || isLimiting(batching.default_queue_policy),
  };
};
