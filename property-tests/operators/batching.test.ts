import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { BatchingSetting } from '../models/batching-world.ts';
import { BatchingWorld } from '../models/batching-world.ts';
import { propertyParameters } from '../parameters.ts';

const setting: fc.Arbitrary<BatchingSetting> = fc
  .record({
    maxBatchSize: fc.integer({ min: 1, max: 8 }),
    preferred: fc.oneof(fc.constant<number[]>([]), fc.uniqueArray(fc.integer({ min: 1, max: 8 }), { maxLength: 3 })),
    maxQueueDelayMs: fc.constantFrom(undefined, 0, 0.1, 2.5, 7, 7),
    maxQueueSize: fc.integer({ min: 1, max: 12 }),
    instances: fc.integer({ min: 1, max: 2 }),
    capacity: fc.integer({ min: 1, max: 2 }),
  })
  .map(({ preferred, ...rest }) => {
    const sizes = preferred.filter((size) => size <= rest.maxBatchSize).sort((a, b) => a - b);
    return { ...rest, preferredBatchSizes: sizes.length === 0 ? [rest.maxBatchSize] : sizes };
  });

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

const advance = (ms: number): Step =>
  step(`advance(${ms} ms)`, (world) => {
    world.time.advance(ms);
    world.checkDelay();
  });

const small = fc.nat(20);

const steps = [
  fc
    .record({ rows: fc.integer({ min: 1, max: 8 }), width: fc.constantFrom(1, 1, 1, 2) })
    .map(({ rows, width }) =>
      step(`arrive(${rows} rows of ${width})`, (world) => world.arrive(Math.min(rows, world.setting.maxBatchSize), width)),
    ),
  fc.constant(step('arrive(1 row of 1)', (world) => world.arrive(1, 1))),
  fc.constantFrom(0.1, 1, 2.5).map(advance),
  fc.constantFrom(0, 0, 2.5, 30, 150).map(advance),
  fc.constant(
    step('advanceToDeadline', (world) => {
      world.advanceToDeadline();
      world.checkDelay();
    }),
  ),
  fc.constant(
    step('finishAll', (world) => {
      for (const run of world.runs) run.finish();
    }),
  ),
  small.map((index) => step(`cancel(${index})`, (world) => pick(world.asked, index)?.cancel())),
  small.map((index) => step(`cancelWaiting(${index})`, (world) => pick(world.waiting, index)?.cancel())),
  small.map((index) => step(`finish(${index})`, (world) => pick(world.runs, index)?.finish())),
  small.map((index) => step(`finish(${index})`, (world) => pick(world.runs, index)?.finish())),
  small.map((index) => step(`fail(${index})`, (world) => pick(world.runs, index)?.fail(new Error('failed')))),
  small.map((index) => step(`die(${index})`, (world) => world.die(index))),
];

// Mutants that it kills, each tried: in `plan-batch` `>` for `>=` at the end of the delay or the newest for the oldest arrival (a request waits
// past its delay), no look at the shape (a batch mixes shapes), one row more than the maximum; in `buffer-when-free` a withdrawn item that stays
// in its lane (it runs though it is cancelled), no decision when a lease comes (a request waits beside a free instance), `>` for `>=` at the
// limit; in `hand` and `leases` permits of an instance that has ended; in `run-batch` no release, or no end when the last caller has cancelled
// (something waits at the end); in `gate` no word to the queue about a caller that has gone.
it('ends each request exactly once, in order, within limits, and leaves nothing behind', () => {
  fc.assert(
    fc.property(setting, fc.commands(steps, { maxCommands: 60, size: 'max' }), (chosen, commands) => {
      const world = new BatchingWorld(chosen);
      fc.modelRun(() => ({ model: {}, real: world }), commands);
      world.finish();
      expect(world.faults).toEqual([]);
    }),
    propertyParameters(),
  );
});
