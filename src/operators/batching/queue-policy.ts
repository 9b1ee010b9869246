import type { LevelRule, PriorityLaneConfig } from '../../streams/flow/priority-lane.ts';
import type { DynamicBatching, ModelSpec, QueuePolicy } from '../../streams/inference/model-spec.ts';
import type { Call } from '../call.ts';

/** So many wait in all of a model's levels together, or as many as in its largest: levels may be more than memory has room for. */
const mostInAllLevels = 2n ** 20n;

const timeoutMs = (policy: QueuePolicy, { timeoutMicroseconds }: Call['request']): number => {
  const { defaultTimeoutMs, allowTimeoutOverride } = policy;
  if (!allowTimeoutOverride || timeoutMicroseconds === 0n) return defaultTimeoutMs;
  return Math.min(defaultTimeoutMs, Number(timeoutMicroseconds) / 1000);
};

const toRule = (policy: QueuePolicy): LevelRule<Call> => ({
  limit: policy.maxQueueSize,
  whenDue: policy.timeoutAction === 'REJECT' ? 'reject' : 'delay',
  // A request may shorten a time-out, not bring one about.
  deadlineMs:
    policy.defaultTimeoutMs > 0 ? ({ arrivedMs, request }) => arrivedMs + timeoutMs(policy, request) : () => Number.POSITIVE_INFINITY,
});

/**
 * Where a model's calls wait and for how long, by its queue policies; undefined where arrival alone decides. A priority of 0 or beyond the levels is
 * the default level's.
 */
export const queuePolicy = ({
  priorityLevels,
  defaultPriorityLevel,
  defaultQueuePolicy,
  queuePolicies,
}: DynamicBatching): PriorityLaneConfig<Call> | undefined => {
  const usual = toRule(defaultQueuePolicy);
  if (priorityLevels === 0n) {
    return defaultQueuePolicy.defaultTimeoutMs === 0 ? undefined : { levelOf: () => 0n, ruleOf: () => usual };
  }
  const rules = new Map([...queuePolicies].map(([level, policy]) => [level, toRule(policy)]));
  return {
    levelOf: ({ request: { priority } }) => (priority === 0n || priority > priorityLevels ? defaultPriorityLevel : priority),
    ruleOf: (level) => rules.get(level) ?? usual,
  };
};

/** How many calls may wait for a model at once, in all of its levels. */
export const queueLimit = ({ maxQueueSize, dynamicBatching }: Pick<ModelSpec, 'maxQueueSize' | 'dynamicBatching'>): number => {
  if (dynamicBatching === undefined) return maxQueueSize;
  const { priorityLevels, defaultQueuePolicy, queuePolicies } = dynamicBatching;
  if (priorityLevels === 0n) return Math.min(maxQueueSize, defaultQueuePolicy.maxQueueSize);
  const own = [...queuePolicies.values()].map((policy) => policy.maxQueueSize);
  const others = priorityLevels - BigInt(own.length);
  const sum = own.reduce((total, size) => total + BigInt(size), others * BigInt(defaultQueuePolicy.maxQueueSize));
  const largest = BigInt(Math.max(...own, others > 0n ? defaultQueuePolicy.maxQueueSize : 0));
  return Number(sum < mostInAllLevels ? sum : largest > mostInAllLevels ? largest : mostInAllLevels);
};
