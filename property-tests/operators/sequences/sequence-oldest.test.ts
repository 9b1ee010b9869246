import fc from 'fast-check';
import { it } from 'vitest';
import type { SequenceSetting } from '../../models/sequence-asked.ts';
import { cancelSteps, deathSteps, holds, holdsAndDrains, sequenceSteps, stopSteps } from '../../models/sequence-steps.ts';
import { propertyParameters } from '../../parameters.ts';

const setting: fc.Arbitrary<SequenceSetting> = fc
  .record({
    maxBatchSize: fc.integer({ min: 0, max: 4 }),
    maxCandidateSequences: fc.integer({ min: 1, max: 5 }),
    preferred: fc.uniqueArray(fc.integer({ min: 1, max: 4 }), { maxLength: 2 }),
    maxQueueDelayMs: fc.constantFrom(0, 0, 2.37),
    preserveOrdering: fc.constantFrom(false, false, true),
    maxQueueSize: fc.constantFrom(3, 8, 30),
    instances: fc.integer({ min: 1, max: 2 }),
    capacity: fc.integer({ min: 1, max: 2 }),
    maxIdleMs: fc.constantFrom(10.37, 1000.41),
    ids: fc.constantFrom('numbers', 'texts'),
    controls: fc.constantFrom('INT32', 'FP32', 'BOOL'),
    endsIdleWithStep: fc.constantFrom(false, false, true),
  })
  .map(({ maxQueueDelayMs, maxCandidateSequences, preserveOrdering, preferred, ...rest }) => {
    const sizes = preferred.filter((size) => size <= rest.maxBatchSize).sort((a, b) => a - b);
    const usual = rest.maxBatchSize === 0 ? [] : [rest.maxBatchSize];
    const preferredBatchSizes = sizes.length === 0 ? usual : sizes;
    return {
      ...rest,
      strategy: { kind: 'oldest', maxCandidateSequences, preferredBatchSizes, maxQueueDelayMs, preserveOrdering },
      hasStates: false,
      isIterative: false,
    };
  });

// Mutants that it kills, each tried: those of the direct strategy in `slot-line`, `sequence-table` and `sequence-watch`; in `slot-line` a delay that
// counts from the arrival and not from the turn, a request that overtakes those before it; in `oldest-batching` no preferred sizes, one candidate too
// many, END that keeps its slot, no decision before a queue is full; in `sequence-table` a cancelled request that stays in the batcher's queue; in
// `preserve-ordering` batches whose answers leave as they come.
it('runs each sequence in order, one request at a time, and leaves nothing behind', () => {
  fc.assert(
    fc.property(setting, fc.commands([...sequenceSteps, ...cancelSteps], { maxCommands: 60, size: 'max' }), holds),
    propertyParameters(),
  );
});

it('also when instances die and the model stops', async () => {
  await fc.assert(
    fc.asyncProperty(
      setting,
      fc.commands([...sequenceSteps, ...cancelSteps, ...deathSteps, ...stopSteps], { maxCommands: 60, size: 'max' }),
      holdsAndDrains,
    ),
    propertyParameters(0.5),
  );
});
