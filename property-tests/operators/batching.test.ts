import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { BatchingSetting } from '../models/batching-world.ts';
import { BatchingWorld } from '../models/batching-world.ts';
import { propertyParameters } from '../parameters.ts';

const setting: fc.Arbitrary<BatchingSetting> = fc
  .record({
    maxBatchSize: fc.integer({ min: 1, max: 8 }),
    preferred: fc.uniqueArray(fc.integer({ min: 1, max: 8 }), { maxLength: 3 }),
    maxQueueDelayMs: fc.constantFrom(undefined, 0, 0, 0.1, 2.5, 7),
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

const small = fc.nat(20);

const steps = [
  fc
    .record({ rows: fc.integer({ min: 1, max: 8 }), width: fc.integer({ min: 1, max: 2 }) })
    .map(({ rows, width }) =>
      step(`arrive(${rows} rows of ${width})`, (world) => world.arrive(Math.min(rows, world.setting.maxBatchSize), width)),
    ),
  fc.constant(step('arrive(1 row of 1)', (world) => world.arrive(1, 1))),
  fc.constantFrom(0, 0, 0.1, 1, 2.5, 30, 150).map((ms) =>
    step(`advance(${ms} ms)`, (world) => {
      world.time.advance(ms);
      world.checkDelay();
    }),
  ),
  small.map((index) => step(`cancel(${index})`, (world) => pick(world.asked, index)?.cancel())),
  small.map((index) => step(`cancelWaiting(${index})`, (world) => pick(world.waiting, index)?.cancel())),
  small.map((index) => step(`finish(${index})`, (world) => pick(world.runs, index)?.finish())),
  small.map((index) => step(`finish(${index})`, (world) => pick(world.runs, index)?.finish())),
  small.map((index) => step(`fail(${index})`, (world) => pick(world.runs, index)?.fail(new Error('failed')))),
  small.map((index) => step(`die(${index})`, (world) => world.die(index))),
];

// Mutants that it kills, each tried: `plan-batch` with `>` for `>=` in `nowMs >= dueMs` (a request waits past its delay), without the check of
// the shape (a batch mixes shapes), with `>=` for `>` before the maximum (counts stay right, full batches are never formed: see the next
// property); `buffer-when-free` that leaves a withdrawn item in its lane (it runs though it is cancelled), that does not decide when a lease
// comes (a request waits beside a free instance), that shifts from the wrong end (order); `run-batch` that forgets to release on an error
// (something waits at the end), or answers by the position in time instead of `of`; `leases` that lends again after the end of a life.
it('ends each request exactly once, in order, within limits, and leaves nothing behind', () => {
  fc.assert(
    fc.property(setting, fc.commands(steps, { maxCommands: 60 }), (chosen, commands) => {
      const world = new BatchingWorld(chosen);
      fc.modelRun(() => ({ model: {}, real: world }), commands);
      world.finish();
      expect(world.faults).toEqual([]);
    }),
    propertyParameters(),
  );
});
