import fc from 'fast-check';
import { it } from 'vitest';
import type { SequenceStrategy } from '../../../src/streams/inference/model-spec.ts';
import type { SequenceSetting } from '../../models/sequence-asked.ts';
import { cancelSteps, deathSteps, endSteps, holdsAndDrains, iterativeSteps, stopSteps } from '../../models/sequence-steps.ts';
import { propertyParameters } from '../../parameters.ts';

const strategy: fc.Arbitrary<SequenceStrategy> = fc.oneof(
  fc.constant({ kind: 'direct' as const, maxQueueDelayMs: 0, minimumSlotUtilization: 0 }),
  fc.constant({ kind: 'oldest' as const, maxCandidateSequences: 1, preferredBatchSizes: [1], maxQueueDelayMs: 0, preserveOrdering: false }),
  fc.constant({ kind: 'oldest' as const, maxCandidateSequences: 3, preferredBatchSizes: [1], maxQueueDelayMs: 0, preserveOrdering: false }),
);

const setting: fc.Arbitrary<SequenceSetting> = fc
  .record({
    strategy,
    instances: fc.integer({ min: 1, max: 2 }),
    maxBatchSize: fc.integer({ min: 1, max: 2 }),
    maxIdleMs: fc.constantFrom(10.37, 1000.41),
    ids: fc.constantFrom('numbers', 'texts'),
    hasStates: fc.boolean(),
  })
  .map((rest) => ({
    ...rest,
    maxQueueSize: 40,
    capacity: 1,
    controls: 'INT32',
    isIterative: true,
    endsIdleWithStep: false,
  }));

// Mutants that it kills, each tried: in `sequence-slot` START and END told again, the client's missing id in place of the server's own, a slot given on
// at a first step with END; in `sequence-table` a sequence that outlasts its request, a request that runs again though its caller has gone, or is left
// behind by its instance.
it('runs a request step by step until the model has done with it', async () => {
  await fc.assert(
    fc.asyncProperty(
      setting,
      fc.commands([...iterativeSteps, ...endSteps, ...cancelSteps, ...deathSteps, ...stopSteps], { maxCommands: 60, size: 'max' }),
      holdsAndDrains,
    ),
    propertyParameters(),
  );
});
