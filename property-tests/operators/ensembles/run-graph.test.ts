import fc from 'fast-check';
import { expect, it } from 'vitest';
import { branchOf, type EnsembleSetting, firstTensorOf, type StepSetting, type Value } from '../../models/ensemble-setting.ts';
import { type AskedSetting, answerTensors, EnsembleWorld } from '../../models/ensemble-world.ts';
import { propertyParameters } from '../../parameters.ts';

interface StepDraw extends Omit<StepSetting, 'inputs'> {
  /** Each chooses among the earlier tensors, the first of any branch, the others of the same one. */
  readonly picks: readonly number[];
}

const draw: fc.Arbitrary<StepDraw> = fc.record({
  picks: fc.array(fc.nat(1000), { minLength: 1, maxLength: 3 }),
  outputs: fc.integer({ min: 1, max: 2 }),
  mostAnswers: fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: fc.constantFrom(0, 1, 3, 6, 20) }),
  batches: fc.boolean(),
  failsIn: fc.constantFrom(0, 0, 0, 0, 5, 2),
  absentIn: fc.constantFrom(0, 0, 0, 4),
  instances: fc.integer({ min: 1, max: 2 }),
  mostDelayMs: fc.constantFrom(0, 1, 5, 20),
  heedsDemand: fc.boolean(),
});

/** Chains of steps have more in them than steps that all take the first tensor. */
const late = (pick: number, count: number): number => count - 1 - Math.floor((pick * pick * count) / 1_002_001);

const withInputs = (setting: EnsembleSetting, { picks, ...step }: StepDraw): StepSetting => {
  const count = firstTensorOf(setting, setting.steps.length);
  const [first = 0, ...others] = picks;
  const tensor = late(first, count);
  const branch = branchOf(setting, tensor);
  const alike = Array.from({ length: count }, (_, index) => index).filter((each) => branchOf(setting, each) === branch);
  return { ...step, inputs: [tensor, ...others.map((pick) => alike[late(pick, alike.length)] ?? tensor)] };
};

const setting: fc.Arbitrary<EnsembleSetting> = fc
  .record({
    inputs: fc.integer({ min: 1, max: 2 }),
    steps: fc.array(draw, { minLength: 1, maxLength: 7 }),
    batches: fc.boolean(),
    allBatch: fc.boolean(),
    maxInflightRequests: fc.constantFrom(0, 1, 2, 5),
  })
  .map(({ inputs, steps, batches, allBatch, maxInflightRequests }) => {
    let made: EnsembleSetting = { inputs, steps: [], batches: batches || allBatch, maxInflightRequests };
    for (const step of steps) {
      const next = withInputs(made, allBatch ? { ...step, batches: true, absentIn: 0 } : step);
      made = { ...made, steps: [...made.steps, next] };
    }
    return made;
  });

/** A request of several rows needs models that all batch, and inputs that are all there. */
const valuesOf = ({ inputs, steps, batches }: EnsembleSetting): fc.Arbitrary<readonly Value[]> => {
  const row = fc.array(fc.nat(255), { minLength: 4, maxLength: 4 });
  const mayHaveRows = batches && steps.every((step) => step.batches && step.absentIn === 0);
  if (!mayHaveRows) return fc.array(fc.option(fc.tuple(row), { nil: undefined, freq: 10 }), { minLength: inputs, maxLength: inputs });
  return fc
    .integer({ min: 1, max: 3 })
    .chain((rows) => fc.array(fc.array(row, { minLength: rows, maxLength: rows }), { minLength: inputs, maxLength: inputs }));
};

const askedOf = (made: EnsembleSetting): fc.Arbitrary<AskedSetting> => {
  const tensors = answerTensors(made);
  return fc.record({
    inputs: valuesOf(made),
    wanted: fc.oneof({ weight: 2, arbitrary: fc.constant(tensors) }, { weight: 1, arbitrary: fc.subarray([...tensors], { minLength: 1 }) }),
    atMs: fc.nat(30),
    cancelAfterMs: fc.option(fc.nat(40), { nil: undefined, freq: 4 }),
  });
};

const scenario = setting.chain((made) => fc.tuple(fc.constant(made), fc.array(askedOf(made), { minLength: 1, maxLength: 6 })));

it('answers each request as if every tensor was asked for in turn, within its limits, and leaves nothing', async () => {
  await fc.assert(
    fc.asyncProperty(scenario, async ([made, asked]) => {
      const world = new EnsembleWorld(made);
      for (const each of asked) world.ask(each);
      world.finish();
      await Promise.resolve();
      await Promise.resolve();
      world.close();
      expect(world.faults).toEqual([]);
    }),
    propertyParameters(),
  );
});
