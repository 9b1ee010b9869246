import fc from 'fast-check';
import { it } from 'vitest';
import type { SequenceStrategy } from '../../src/streams/inference/model-spec.ts';
import type { SequenceSetting } from '../models/sequence-asked.ts';
import { cancelSteps, deathSteps, holds, sequenceSteps, stopSteps } from '../models/sequence-steps.ts';
import { propertyParameters } from '../parameters.ts';

const strategy: fc.Arbitrary<SequenceStrategy> = fc.oneof(
  fc.constant({ kind: 'direct' as const, maxQueueDelayMs: 0, minimumSlotUtilization: 0 }),
  fc.constant({ kind: 'oldest' as const, maxCandidateSequences: 3, preferredBatchSizes: [], maxQueueDelayMs: 0, preserveOrdering: false }),
);

const setting: fc.Arbitrary<SequenceSetting> = fc
  .record({
    strategy,
    maxBatchSize: fc.integer({ min: 0, max: 3 }),
    instances: fc.integer({ min: 1, max: 2 }),
    capacity: fc.integer({ min: 1, max: 2 }),
    maxIdleMs: fc.constantFrom(10.37, 1000.41),
    ids: fc.constantFrom('numbers', 'texts'),
  })
  .map(({ strategy, maxBatchSize, ...rest }) => {
    const preferredBatchSizes = maxBatchSize === 0 ? [] : [maxBatchSize];
    return {
      ...rest,
      strategy: strategy.kind === 'oldest' ? { ...strategy, preferredBatchSizes } : strategy,
      maxBatchSize,
      maxQueueSize: 40,
      controls: 'INT32',
      hasStates: true,
      isIterative: false,
      endsIdleWithStep: false,
    };
  });

it('brings the states of each step to the next one of the same sequence, and to nobody else', () => {
  fc.assert(
    fc.property(
      setting,
      fc.commands([...sequenceSteps, ...cancelSteps, ...deathSteps, ...stopSteps], { maxCommands: 60, size: 'max' }),
      holds,
    ),
    propertyParameters(),
  );
});
