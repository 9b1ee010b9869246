import fc from 'fast-check';
import { expect, it } from 'vitest';
import { batchingSetting, singleSetting } from '../../arbitraries/batching-setting.ts';
import { BatchingWorld } from '../../models/batching-world.ts';
import { propertyParameters } from '../../parameters.ts';

/** The model is kept in the world itself: what was asked and what became of it. */
type Step = fc.Command<object, BatchingWorld>;

const step = (name: string, run: (world: BatchingWorld) => void): Step => ({
  check: () => true,
  run: (_, world) => {
    run(world);
    world.checkAlways();
    expect(world.faults).toEqual([]);
  },
  toString: () => name,
});

const pick = <T>(items: readonly T[], index: number): T | undefined => items[index % Math.max(1, items.length)];

const timed = (name: string, run: (world: BatchingWorld) => void): Step =>
  step(name, (world) => {
    run(world);
    world.checkTime();
  });

const advance = (ms: number): Step => timed(`${ms} ms pass`, (world) => world.time.advance(ms));

const small = fc.nat(20);

const arrival = fc.record({
  rows: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 8 })),
  width: fc.constantFrom(1, 1, 1, 2),
  priority: fc.constantFrom(0, 0, 1, 2, 3, 4),
  timeoutMs: fc.constantFrom(0, 0, 0.1, 1, 4, 30),
});

const steps = [
  arrival.map(({ rows, width, priority, timeoutMs }) =>
    step(`arrive(${rows} rows of ${width}, priority ${priority}, time-out ${timeoutMs} ms)`, (world) =>
      world.arrive({ rows: Math.min(rows, world.setting.maxBatchSize), width, priority, timeoutMs }),
    ),
  ),
  fc.constant(step('arrive(1 row)', (world) => world.arrive({ rows: 1, width: 1, priority: 0, timeoutMs: 0 }))),
  fc.constantFrom(0.1, 1, 2.5).map(advance),
  fc.constantFrom(0, 0, 2.5, 30, 150).map(advance),
  fc.constant(timed('the delay of the next passes', (world) => world.advanceToDelay())),
  fc.constant(timed('the next time-out is reached', (world) => world.advanceToTimeout())),
  fc.constant(
    step('all batches finish', (world) => {
      for (const run of world.runs) run.finish();
    }),
  ),
  small.map((index) => step(`cancel(${index})`, (world) => pick(world.asked, index)?.cancel())),
  small.map((index) => step(`cancel(${index} of those that wait)`, (world) => pick(world.waiting, index)?.cancel())),
  small.map((index) => step(`batch ${index} finishes`, (world) => pick(world.runs, index)?.finish())),
  small.map((index) => step(`batch ${index} finishes`, (world) => pick(world.runs, index)?.finish())),
  small.map((index) => step(`batch ${index} fails`, (world) => pick(world.runs, index)?.fail(new Error('failed')))),
  small.map((index) => step(`instance ${index} dies`, (world) => world.die(index))),
];

// Mutants that it kills, each tried: in `plan-batch` `>` for `>=` at the end of the delay or the newest for the oldest arrival (a request waits
// past its delay), no look at the shape (a batch mixes shapes), one row more than the maximum; in `buffer-when-free` a withdrawn item that stays
// in its lane (it runs though it is cancelled), no decision when a lease comes (a request waits beside a free instance), `>` for `>=` at the
// limit; in `hand` and `leases` permits of an instance that has ended; in `run-batch` no release, or no end when the last caller has cancelled
// (something waits at the end); in `gate` no word to the queue about a caller that has gone; in `priority-lane` late items first, missing or not
// counted, and `>` for `>=` at a level's limit; in `deadlines` no order among equal ones, or only one child looked at; in `queue-policy` time-outs
// that a request lengthens, sets though it may not, or brings about, the first level for the default one, one policy for all levels; in
// `buffer-when-free` no alarm when a deadline comes, or none after the first; in `schedule` two batches at an instance in spite of a policy.
it('ends each request exactly once, in order, within limits and time, and leaves nothing behind', () => {
  fc.assert(
    fc.property(
      fc.oneof({ weight: 6, arbitrary: batchingSetting }, { weight: 1, arbitrary: singleSetting }),
      fc.commands(steps, { maxCommands: 60, size: 'max' }),
      (chosen, commands) => {
        const world = new BatchingWorld(chosen);
        fc.modelRun(() => ({ model: {}, real: world }), commands);
        world.finish();
        expect(world.faults).toEqual([]);
      },
    ),
    propertyParameters(),
  );
});
