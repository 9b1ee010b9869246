import fc from 'fast-check';
import type { QueuePolicy } from '../../src/streams/inference/model-spec.ts';
import type { BatchingSetting } from '../models/batching-setting.ts';

const delayMs = fc.constantFrom(0, 0, 0.25, 2.5, 7, 7);

const policy: fc.Arbitrary<QueuePolicy> = fc.record({
  timeoutAction: fc.constantFrom('REJECT', 'DELAY'),
  defaultTimeoutMs: fc.constantFrom(0, 0.25, 2, 5, 12),
  allowTimeoutOverride: fc.boolean(),
  maxQueueSize: fc.integer({ min: 1, max: 12 }),
});

/** No levels, no time-outs: what a model has that says nothing. */
const plainPolicies: fc.Arbitrary<Pick<BatchingSetting, 'policies' | 'defaultLevel'>> = fc
  .integer({ min: 1, max: 12 })
  .map((maxQueueSize) => ({
    policies: [{ timeoutAction: 'REJECT', defaultTimeoutMs: 0, allowTimeoutOverride: false, maxQueueSize }],
    defaultLevel: 0,
  }));

const policies: fc.Arbitrary<Pick<BatchingSetting, 'policies' | 'defaultLevel'>> = fc
  .record({ policies: fc.array(policy, { minLength: 1, maxLength: 3 }), level: fc.nat(3) })
  .map(({ policies, level }) => ({ policies, defaultLevel: policies.length === 1 ? level % 2 : 1 + (level % policies.length) }));

/** Dynamic batching with any delay, sizes, levels and policies. */
export const batchingSetting: fc.Arbitrary<BatchingSetting> = fc
  .record({
    maxBatchSize: fc.integer({ min: 1, max: 8 }),
    preferred: fc.oneof(fc.constant<number[]>([]), fc.uniqueArray(fc.integer({ min: 1, max: 8 }), { maxLength: 3 })),
    maxQueueDelayMs: delayMs,
    instances: fc.integer({ min: 1, max: 2 }),
    capacity: fc.integer({ min: 1, max: 2 }),
    queue: fc.oneof(plainPolicies, { weight: 2, arbitrary: policies }),
  })
  .map(({ preferred, queue, ...rest }) => {
    const sizes = preferred.filter((size) => size <= rest.maxBatchSize).sort((a, b) => a - b);
    return { ...rest, ...queue, preferredBatchSizes: sizes.length === 0 ? [rest.maxBatchSize] : sizes };
  });

/** The default scheduler, which has no policies. */
export const singleSetting: fc.Arbitrary<BatchingSetting> = fc
  .record({ setting: batchingSetting, queue: plainPolicies })
  .map(({ setting, queue }) => ({ ...setting, ...queue, maxQueueDelayMs: undefined }));
