import fc from 'fast-check';
import { it } from 'vitest';
import type { SequenceStrategy } from '../../../src/streams/inference/model-spec.ts';
import type { SequenceSetting } from '../../models/sequence-asked.ts';
import { cancelSteps, deathSteps, holdsAndDrains, sequenceSteps, stopSteps } from '../../models/sequence-steps.ts';
import { propertyParameters } from '../../parameters.ts';

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

// Mutants that it kills, each tried: in `implicit-state` states that are kept without a copy or in the memory that the running step reads, pairs by the
// order of names, a first state that is not initial, an error that is taken for an answer without states, hidden states that are shown; in
// `sequence-slot` a START that does not reset, shapes of states that are not looked at, or at a START; in `run-batch` a batch that is cancelled with
// its last caller.
it('brings the states of each step to the next one of the same sequence, and to nobody else', async () => {
  await fc.assert(
    fc.asyncProperty(
      setting,
      fc.commands([...sequenceSteps, ...cancelSteps, ...deathSteps, ...stopSteps], { maxCommands: 60, size: 'max' }),
      holdsAndDrains,
    ),
    propertyParameters(),
  );
});
