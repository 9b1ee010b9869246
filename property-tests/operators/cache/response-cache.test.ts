import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { CacheSetting, Habit, Run } from '../../models/cache-asked.ts';
import { contents } from '../../models/cache-contents.ts';
import { CacheWorld } from '../../models/cache-world.ts';
import { propertyParameters } from '../../parameters.ts';

const setting: fc.Arbitrary<CacheSetting> = fc.record({
  // From a cache that holds nothing, over one or two entries, to all.
  sizeBytes: fc.constantFrom(64, 2500, 5000, 1_000_000),
  answerBytes: fc.constantFrom(8, 8, 40, 3000),
  limit: fc.constantFrom(1, 3, 100),
  decoupled: fc.boolean(),
  fetches: fc.boolean(),
});

/** The model is kept in the world itself: what was asked and what became of it. */
type Step = fc.AsyncCommand<object, CacheWorld>;

const step = (name: string, run: (world: CacheWorld) => void | Promise<void>): Step => ({
  check: () => true,
  run: async (_, world) => {
    await run(world);
    world.check();
    expect(world.faults).toEqual([]);
  },
  toString: () => name,
});

const pick = <T>(items: readonly T[], index: number): T | undefined => items[index % Math.max(1, items.length)];

/** With one of the runs that are at work. */
const withRun = (name: string, act: (world: CacheWorld, run: Run) => void): fc.Arbitrary<Step> =>
  fc.nat(8).map((index) =>
    step(`${name}(${index})`, (world) => {
      const run = pick(world.atWork, index);
      if (run !== undefined) act(world, run);
    }),
  );

const habit = fc.constantFrom<Habit>('listens', 'listens', 'listens', 'leaves', 'asks again', 'cancels the next', 'drives');
const content = fc.oneof(fc.nat(contents.length - 1), fc.constantFrom(0, 0, 1, 8));
const ask = fc.tuple(content, habit).map(([which, does]) => step(`ask(${which}, ${does})`, (world) => world.ask(which, does)));

const steps = [
  ask,
  ask,
  ask,
  fc.constant(step('fetch', (world) => world.fetch())),
  withRun('answerLast', (world, run) => world.answer(run, true)),
  withRun('answerLast', (world, run) => world.answer(run, true)),
  withRun('answer', (world, run) => {
    if (world.setting.decoupled) world.answer(run, false);
  }),
  withRun('complete', (world, run) => {
    if (world.setting.decoupled) world.complete(run);
  }),
  withRun('fail', (world, run) => world.fail(run, 'BACKEND')),
  withRun('reject', (world, run) => world.fail(run, 'REJECTED')),
  fc.nat(8).map((index) =>
    step(`cancel(${index})`, (world) => {
      const asked = pick(world.waiting, index);
      if (asked !== undefined) world.cancel(asked);
    }),
  ),
  fc.constant(step('reload', (world) => world.reload())),
];

// Mutants that it kills, each tried: in `cache-keys` no shape, no datatype, no kind of a parameter, no requested outputs or these in order, no content;
// in `copy-answer` a view in place of a copy; in `shared-run` a failure of the model that is not everybody's, a new run after a first answer, a failed
// run that can still be joined, no cancellation by the last caller, callers that stay in the list, no new run after a rejection; in `cache-asker` the id
// of another; in `response-cache` a bound that is off by one, no joining, no answers so far for who joins late, a run for nobody, a miss that is not
// told; in `local-cache` room that is not made or not counted, and a hit without a look at the key; in `hash-table` items that stay in their bucket.
it('answers each request once and rightly, never from a failure or old content, runs each content once at a time, and leaves nothing', async () => {
  await fc.assert(
    fc.asyncProperty(setting, fc.commands(steps, { maxCommands: 60, size: 'max' }), async (chosen, commands) => {
      const world = new CacheWorld(chosen);
      await fc.asyncModelRun(() => ({ model: {}, real: world }), commands);
      await world.finish();
      expect(world.faults).toEqual([]);
    }),
    propertyParameters(),
  );
});
