import fc from 'fast-check';
import { it } from 'vitest';
import type { SequenceStrategy } from '../../src/streams/inference/model-spec.ts';
import type { SequenceSetting } from '../models/sequence-asked.ts';
import { cancelSteps, deathSteps, endSteps, holds, iterativeSteps, stopSteps } from '../models/sequence-steps.ts';
import { propertyParameters } from '../parameters.ts';

const strategy: fc.Arbitrary<SequenceStrategy> = fc.oneof(
  fc.constant({ kind: 'direct' as const, maxQueueDelayMs: 0, minimumSlotUtilization: 0 }),
  fc.constant({ kind: 'oldest' as const, maxCandidateSequences: 3, preferredBatchSizes: [3], maxQueueDelayMs: 0, preserveOrdering: false }),
);

const setting: fc.Arbitrary<SequenceSetting> = fc
  .record({
    strategy,
    instances: fc.integer({ min: 1, max: 2 }),
    maxIdleMs: fc.constantFrom(10.37, 1000.41),
    ids: fc.constantFrom('numbers', 'texts'),
    hasStates: fc.boolean(),
  })
  .map((rest) => ({
    ...rest,
    maxBatchSize: 3,
    maxQueueSize: 40,
    capacity: 1,
    controls: 'INT32',
    isIterative: true,
    endsIdleWithStep: false,
  }));

it('runs a request step by step until the model has done with it', () => {
  fc.assert(
    fc.property(
      setting,
      fc.commands([...iterativeSteps, ...endSteps, ...cancelSteps, ...deathSteps, ...stopSteps], { maxCommands: 60, size: 'max' }),
      holds,
    ),
    propertyParameters(),
  );
});
