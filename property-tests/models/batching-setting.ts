import type { DynamicBatching, QueuePolicy } from '../../src/streams/inference/model-spec.ts';
import { makeBatching, makeQueuePolicy } from '../../test/support/model.ts';

export interface BatchingSetting {
  readonly maxBatchSize: number;
  readonly preferredBatchSizes: readonly number[];
  /** Undefined for the default scheduler. */
  readonly maxQueueDelayMs: number | undefined;
  readonly instances: number;
  readonly capacity: number;
  /** One for each priority level; one in all for a model without levels. */
  readonly policies: readonly QueuePolicy[];
  /** 0 for a model without levels, else among them. */
  readonly defaultLevel: number;
}

/** Of a request that says `priority`. */
export const levelOf = ({ policies, defaultLevel }: BatchingSetting, priority: number): number =>
  defaultLevel === 0 || priority === 0 || priority > policies.length ? defaultLevel : priority;

export const policyOf = ({ policies }: BatchingSetting, level: number): QueuePolicy =>
  policies[Math.max(0, level - 1)] ?? makeQueuePolicy();

/** When its time is up; Infinity for never. */
export const deadlineOf = (policy: QueuePolicy, arrivedMs: number, timeoutMs: number): number => {
  if (policy.defaultTimeoutMs === 0) return Number.POSITIVE_INFINITY;
  const isShorter = policy.allowTimeoutOverride && timeoutMs > 0 && timeoutMs < policy.defaultTimeoutMs;
  return arrivedMs + (isShorter ? timeoutMs : policy.defaultTimeoutMs);
};

export const isStrict = ({ policies, defaultLevel }: BatchingSetting): boolean =>
  defaultLevel > 0 || policies.some(({ defaultTimeoutMs }) => defaultTimeoutMs > 0);

export const batchingOf = (setting: BatchingSetting): DynamicBatching | undefined => {
  const { maxQueueDelayMs, preferredBatchSizes, policies, defaultLevel } = setting;
  if (maxQueueDelayMs === undefined) return undefined;
  return makeBatching({
    preferredBatchSizes,
    maxQueueDelayMs,
    priorityLevels: defaultLevel === 0 ? 0n : BigInt(policies.length),
    defaultPriorityLevel: BigInt(defaultLevel),
    defaultQueuePolicy: policyOf(setting, 1),
    // The first level has none of its own, and so the default.
    queuePolicies: new Map(defaultLevel === 0 ? [] : policies.slice(1).map((policy, index) => [BigInt(index + 2), policy])),
    isStrict: isStrict(setting),
  });
};
