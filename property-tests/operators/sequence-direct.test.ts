import fc from 'fast-check';
import { it } from 'vitest';
import type { SequenceSetting } from '../models/sequence-asked.ts';
import { cancelSteps, deathSteps, holds, sequenceSteps, stopSteps } from '../models/sequence-steps.ts';
import { propertyParameters } from '../parameters.ts';

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

it('runs each sequence in order, in a row of its own, and leaves nothing behind', () => {
  fc.assert(
    fc.property(setting, fc.commands([...sequenceSteps, ...cancelSteps], { maxCommands: 60, size: 'max' }), holds),
    propertyParameters(),
  );
});

it('also when instances die and the model stops', () => {
  fc.assert(
    fc.property(
      setting,
      fc.commands([...sequenceSteps, ...cancelSteps, ...deathSteps, ...stopSteps], { maxCommands: 60, size: 'max' }),
      holds,
    ),
    propertyParameters(0.5),
  );
});
