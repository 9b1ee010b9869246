import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Habit, OrderingSetting } from '../../models/ordering-world.ts';
import { OrderingWorld } from '../../models/ordering-world.ts';
import { propertyParameters } from '../../parameters.ts';

const setting: fc.Arbitrary<OrderingSetting> = fc.record({
  limit: fc.constantFrom(1, 2, 5, 100),
  maxBytes: fc.constantFrom(1, 8, 20, 10_000),
});

/** The model is kept in the world itself: what was asked and what became of it. */
type Step = fc.Command<object, OrderingWorld>;

const step = (name: string, run: (world: OrderingWorld) => void): Step => ({
  check: () => true,
  run: (_, world) => {
    run(world);
    world.check();
    expect(world.faults).toEqual([]);
  },
  toString: () => name,
});

const pick = <T>(items: readonly T[], index: number): T | undefined => items[index % Math.max(1, items.length)];

type Asked = OrderingWorld['asked'][number];

/** With one of the requests whose model is still at work. */
const withOpen = (name: string, act: (world: OrderingWorld, asked: Asked) => void): fc.Arbitrary<Step> =>
  fc.nat(8).map((index) =>
    step(`${name}(${index})`, (world) => {
      const asked = pick(world.open, index);
      if (asked !== undefined) act(world, asked);
    }),
  );

const habit = fc.constantFrom<Habit>('listens', 'listens', 'listens', 'leaves', 'asks again', 'cancels the next', 'drives', 'drives');
const bytes = fc.constantFrom(0, 1, 4, 8, 12);

const steps = [
  habit.map((each) => step(`ask(${each})`, (world) => world.ask(each))),
  habit.map((each) => step(`ask(${each})`, (world) => world.ask(each))),
  fc.tuple(habit, bytes).map(([each, size]) => step(`askTheCache(${each}, ${size} bytes)`, (world) => world.ask(each, size))),
  bytes.chain((size) => withOpen(`answer ${size} bytes`, (world, asked) => world.answer(asked, size))),
  bytes.chain((size) =>
    withOpen(`answerLast ${size} bytes`, (world, asked) => {
      world.answer(asked, size);
      if (asked.end === 'none') world.complete(asked);
    }),
  ),
  withOpen('complete', (world, asked) => world.complete(asked)),
  withOpen('fail', (world, asked) => world.fail(asked, 'BACKEND')),
  withOpen('reject', (world, asked) => world.fail(asked, 'REJECTED')),
  withOpen('cancelInside', (world, asked) => world.fail(asked, 'CANCELED')),
  fc.constant(
    step('rejectFirst', (world) => {
      const [first] = world.open;
      if (first !== undefined) world.fail(first, 'REJECTED');
    }),
  ),
  fc.nat(8).map((index) =>
    step(`cancel(${index})`, (world) => {
      const asked = pick(world.unanswered, index);
      if (asked !== undefined) world.cancel(asked);
    }),
  ),
];

// Mutants that it kills, each tried: in `in-order` no order, no copy (an answer shows what its model wrote later), an answer that goes directly while
// others are let out or while a turn closes at once (it overtakes those held), only one request let out, urgent errors past answers of their own,
// `>` for `>=` at the limit, the size of the newcomer left out, a single large answer refused, sizes that stay after a cancellation, a
// cancellation after which nobody goes on; in `preserve-ordering` rejected requests that wait, cancellations that are not heard.
it('lets answers out in the order of their requests, holds no more than it may, and nothing in the end', () => {
  fc.assert(
    fc.property(setting, fc.commands(steps, { maxCommands: 60, size: 'max' }), (chosen, commands) => {
      const world = new OrderingWorld(chosen);
      fc.modelRun(() => ({ model: {}, real: world }), commands);
      world.finish();
      expect(world.faults).toEqual([]);
    }),
    propertyParameters(),
  );
});
