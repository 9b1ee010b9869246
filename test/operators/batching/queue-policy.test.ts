import { describe, expect, it } from 'vitest';
import { queueLimit, queuePolicy } from '../../../src/operators/batching/queue-policy.ts';
import type { DynamicBatching } from '../../../src/streams/inference/model-spec.ts';
import { makeBatching, makeQueuePolicy, makeSpec } from '../../support/model.ts';

// What levels and time-outs do to calls stands in batching-scenarios.test.ts.
describe('queuePolicy', () => {
  it('is none for a model whose calls leave in order of arrival and wait for ever', () => {
    expect(queuePolicy(makeBatching())).toBeUndefined();
    expect(
      queuePolicy(makeBatching({ defaultQueuePolicy: makeQueuePolicy({ allowTimeoutOverride: true, maxQueueSize: 3 }) })),
    ).toBeUndefined();
  });

  it('makes a rule for each level once', () => {
    const policy = queuePolicy(
      makeBatching({
        priorityLevels: 3n,
        defaultPriorityLevel: 1n,
        defaultQueuePolicy: makeQueuePolicy({ maxQueueSize: 5 }),
        queuePolicies: new Map([[2n, makeQueuePolicy({ maxQueueSize: 7, timeoutAction: 'DELAY' })]]),
      }),
    );
    expect([1n, 2n, 3n].map((level) => policy?.ruleOf(level).limit)).toEqual([5, 7, 5]);
    expect([1n, 2n, 3n].map((level) => policy?.ruleOf(level).whenDue)).toEqual(['reject', 'delay', 'reject']);
    expect(policy?.ruleOf(3n)).toBe(policy?.ruleOf(1n));
  });
});

describe('queueLimit', () => {
  const limit = (fields: Partial<DynamicBatching>, sizes: readonly number[] = [], usual = 10): number =>
    queueLimit(
      makeSpec({
        maxQueueSize: 20,
        dynamicBatching: makeBatching({
          defaultQueuePolicy: makeQueuePolicy({ maxQueueSize: usual }),
          queuePolicies: new Map(sizes.map((maxQueueSize, index) => [BigInt(index + 1), makeQueuePolicy({ maxQueueSize })])),
          ...fields,
        }),
      }),
    );

  it('is that of the default scheduler, of the only level, or of all levels together', () => {
    expect(queueLimit(makeSpec({ maxQueueSize: 20, dynamicBatching: undefined }))).toBe(20);
    expect(limit({})).toBe(10);
    expect(limit({ priorityLevels: 3n }, [5])).toBe(25);
    expect(limit({ priorityLevels: 2n }, [5, 6])).toBe(11);
  });

  it('is that of the largest level where all together would be too many, of those that there are', () => {
    const large = 2 ** 21;
    expect(limit({ priorityLevels: 2n }, [large, 5])).toBe(large);
    expect(limit({ priorityLevels: 2n }, [large, 5], 2 * large)).toBe(large);
    expect(limit({ priorityLevels: 3n }, [large, 5], 2 * large)).toBe(2 * large);
    expect(limit({ priorityLevels: 3n }, [2 ** 19, 2 ** 19], 2 ** 19)).toBe(2 ** 20);
  });

  it('has an end, however many levels there are', () => {
    expect(limit({ priorityLevels: 2n ** 63n })).toBe(2 ** 20);
    expect(limit({ priorityLevels: 2n ** 63n }, [], 2 ** 21)).toBe(2 ** 21);
  });
});
