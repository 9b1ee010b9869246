import fc from 'fast-check';
import { it } from 'vitest';
import type { SequenceSetting } from '../../models/sequence-asked.ts';
import { cancelSteps, deathSteps, holds, holdsAndDrains, sequenceSteps, stopSteps } from '../../models/sequence-steps.ts';
import { propertyParameters } from '../../parameters.ts';

const setting: fc.Arbitrary<SequenceSetting> = fc
  .record({
    maxBatchSize: fc.integer({ min: 0, max: 4 }),
    maxQueueDelayMs: fc.constantFrom(0, 0, 2.37),
    minimumSlotUtilization: fc.constantFrom(0, 0, 0.5, 1),
    maxQueueSize: fc.constantFrom(3, 8, 30),
    instances: fc.integer({ min: 1, max: 2 }),
    capacity: fc.integer({ min: 1, max: 2 }),
    maxIdleMs: fc.constantFrom(10.37, 1000.41),
    ids: fc.constantFrom('numbers', 'texts'),
    controls: fc.constantFrom('INT32', 'FP32', 'BOOL'),
    endsIdleWithStep: fc.constantFrom(false, false, true),
  })
  .map(({ maxQueueDelayMs, minimumSlotUtilization, ...rest }) => ({
    ...rest,
    strategy: { kind: 'direct', maxQueueDelayMs, minimumSlotUtilization },
    hasStates: false,
    isIterative: false,
  }));

// Mutants that it kills, each tried: in `free-slots` and `slot-line` a slot that is not the lowest, one that is not given on at its end or when idle,
// a slot whose call still runs given a call, the newest of the backlog for the oldest, slots of a new instance that the backlog does not get; in
// `sequence-table` END that leaves its id in use, no decision before a queue is full, `>` for `>=` at the limit, a cancellation that takes those
// ahead or leaves those behind, padding rows and idle steps that are counted; in `sequence-watch` idle sequences of the backlog, a last request that
// does not count, the later of two deadlines, a deadline that outlasts the backlog; in `plan-slots` rows up to the last slot, no gaps, other shapes,
// another representative, `<=` for `<` at the share of slots, the newest for the oldest arrival; in `padding-row` and `control-inputs` wrong flags,
// ids that overwrite each other, shapes of the batch before; in `direct-batching` and `sequence-batching` END that keeps its slot, two batches at
// once, no word of why a sequence has ended.
it('runs each sequence in order, in a row of its own, and leaves nothing behind', () => {
  fc.assert(
    fc.property(setting, fc.commands([...sequenceSteps, ...cancelSteps], { maxCommands: 60, size: 'max' }), holds),
    propertyParameters(),
  );
});

// Mutants that it kills: in `sequence-batching` and `slot-line` slots of an instance that is gone, sequences of it that requests can still join, in
// `sequence-table` no reason for those; in `run-model` a START that begins while the model drains.
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
