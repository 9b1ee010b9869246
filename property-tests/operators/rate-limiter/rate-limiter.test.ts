import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { InstanceSetting, RateLimitSetting } from '../../models/rate-limit-world.ts';
import { RateLimitWorld } from '../../models/rate-limit-world.ts';
import { propertyParameters } from '../../parameters.ts';

const demand = fc
  .record({ name: fc.constantFrom('R', 'S'), count: fc.constantFrom(1, 1, 1, 1, 2, 3, 0), oddity: fc.nat(99) })
  // A name is a global resource or one of devices; now and then a config mixes them up.
  .map(({ name, count, oddity }) => ({ name, count, isGlobal: (name === 'R') !== (oddity === 0) }));

const instance: fc.Arbitrary<InstanceSetting> = fc.record({
  device: fc.constantFrom(0, 0, 0, 0, 1),
  priority: fc.integer({ min: 1, max: 3 }),
  resources: fc.oneof(
    { weight: 6, arbitrary: demand.map((each) => [each]) },
    { weight: 2, arbitrary: fc.array(demand, { minLength: 2, maxLength: 2 }) },
    { weight: 1, arbitrary: fc.constant([]) },
  ),
});

const limits = fc.array(
  fc.record({
    name: fc.constantFrom('R', 'S'),
    count: fc.integer({ min: 2, max: 7 }),
    device: fc.constantFrom(undefined, undefined, 0, 1),
  }),
  { minLength: 3, maxLength: 5 },
);

const takes = (name: 'R' | 'S', count: number): InstanceSetting => ({
  device: 0,
  priority: 1,
  resources: [{ name, count, isGlobal: name === 'R' }],
});

/** Two resources and little else, so that models get into each other's way. */
const narrow: readonly (readonly (readonly InstanceSetting[])[])[] = [
  [[takes('R', 1), takes('R', 1)], [takes('S', 1)], [takes('R', 1)]],
  [[takes('R', 3)], [takes('R', 1), takes('R', 1)], [takes('S', 1)]],
];

const setting: fc.Arbitrary<RateLimitSetting> = fc.record({
  models: fc.oneof(
    fc.array(fc.array(instance, { minLength: 1, maxLength: 2 }), { minLength: 1, maxLength: 3 }),
    fc.constantFrom(...narrow),
  ),
  limits: fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: limits }),
});

/** The model is kept in the world itself: what was asked and what became of it. */
type Step = fc.Command<object, RateLimitWorld>;

const step = (name: string, run: (world: RateLimitWorld) => void): Step => ({
  check: () => true,
  run: (_, world) => {
    run(world);
    expect(world.faults).toEqual([]);
  },
  toString: () => name,
});

const pick = <T>(items: readonly T[], index: number): T | undefined => items[index % Math.max(1, items.length)];

type Model = RateLimitWorld['models'][number];

const withModel = (name: string, act: (world: RateLimitWorld, model: Model) => void): fc.Arbitrary<Step> =>
  fc.nat(2).map((index) =>
    step(`${name}(${'ABC'[index]})`, (world) => {
      const model = world.models[index];
      if (model !== undefined) act(world, model);
    }),
  );

const advance = (ms: number): Step =>
  step(`advance(${ms} ms)`, (world) => {
    world.advance(ms);
    world.check();
  });

const arrive = fc.integer({ min: 1, max: 4 }).chain((count) =>
  withModel(`arrive ${count}`, (world, model) => {
    for (let n = 0; n < count; n++) world.arrive(model);
    world.advance(0);
    world.check();
  }),
);
const finish = fc.nat(5).map((index) =>
  step(`finish(${index})`, (world) => {
    pick(world.runs, index)?.finish();
    world.check();
  }),
);

const steps = [
  arrive,
  arrive,
  withModel('arriveLate', (world, model) => world.arrive(model)),
  fc.constantFrom(0, 150).map(advance),
  finish,
  finish,
  finish,
  fc.nat(5).map((index) => step(`fail(${index})`, (world) => pick(world.runs, index)?.fail(new Error('failed')))),
  withModel('cancelWaiting', (world, { asked }) => {
    for (const each of asked) if (each.state === 'waiting') each.cancel();
    world.check();
  }),
  fc.tuple(fc.nat(2), fc.nat(20)).map(([model, index]) =>
    step(`cancel(${'ABC'[model]} ${index})`, (world) => {
      const asked = world.models[model]?.asked.filter(({ state }) => state !== 'ended') ?? [];
      pick(asked, index)?.cancel();
      world.check();
    }),
  ),
  fc.tuple(fc.nat(2), fc.nat(1)).map(([model, index]) =>
    step(`die(${'ABC'[model]}.${index})`, (world) => {
      const seat = world.models[model]?.seats[index];
      if (seat?.instance !== undefined) seat.die();
      world.check();
    }),
  ),
  withModel('unload', (world, model) => {
    world.unload(model);
    world.check();
  }),
  withModel('load', (world, model) => {
    world.load(model);
    world.check();
  }),
];

// Mutants that it kills, each tried: in `share-permits` nothing taken or given back (limits are passed, or nobody goes on), given back twice, no
// turn counted, no look at who waits after a withdrawal or a death (a batch waits beside enough), a grant before the one who gives back has asked
// again (another's turn is passed over); in `plan-grants` any that fits for the first in turn, priorities upside down, no preference among equals,
// an instance without needs that waits, `<` for `<=` at the limit, the count left out; in `resource-pools` the last demand for the largest, two
// demands of one name, the entry of a device, global resources by device; in `rate-limiter` a failed or ended model that stays registered, two
// batches at once on an instance, no look at who waits when an instance dies.
it('keeps within the limits, in turns, and lets nobody wait beside enough of everything', () => {
  fc.assert(
    fc.property(setting, fc.commands(steps, { maxCommands: 60, size: 'max' }), (chosen, commands) => {
      const world = new RateLimitWorld(chosen);
      expect(world.faults).toEqual([]);
      fc.modelRun(() => ({ model: {}, real: world }), commands);
      world.finish();
      expect(world.faults).toEqual([]);
    }),
    propertyParameters(),
  );
});
