import fc from 'fast-check';
import { expect } from 'vitest';
import { InferError } from '../../src/streams/inference/error.ts';
import type { Reaction, SequenceSetting } from './sequence-asked.ts';
import { checkAlways, checkTick, end, finish } from './sequence-checks.ts';
import type { Flight } from './sequence-run.ts';
import { badStepText } from './sequence-run.ts';
import { SequenceWorld } from './sequence-world.ts';

/** The model is kept in the world itself: what was asked and what became of it. */
export type Step = fc.Command<object, SequenceWorld>;

export const step = (name: string, run: (world: SequenceWorld) => void): Step => ({
  check: () => true,
  run: (_, world) => {
    if (world.isStopped) return;
    run(world);
    checkAlways(world);
    expect(world.faults).toEqual([]);
  },
  toString: () => name,
});

export const pick = <T>(items: readonly T[], index: number): T | undefined => items[index % Math.max(1, items.length)];

const advance = (ms: number): Step =>
  step(`advance(${ms} ms)`, (world) => {
    world.time.advance(ms);
    checkTick(world);
  });

const small = fc.nat(20);
const key = fc.integer({ min: 1, max: 6 });
const width = fc.constantFrom(1, 1, 1, 1, 1, 2);

const flagNames = { START: [true, false], middle: [false, false], END: [false, true], 'START and END': [true, true] } as const;
const timeoutMs = fc.constantFrom(0, 0, 0, 3.61, 12.7);

const reaction = fc.constantFrom<Reaction>('nothing', 'nothing', 'nothing', 'nothing', 'goes on', 'cancels another', 'starts again');

const ask = fc
  .record({
    key,
    flags: fc.constantFrom('START' as const, 'START' as const, 'middle' as const, 'END' as const, 'START and END' as const),
    timeoutMs,
    width,
    reaction,
  })
  .map(({ flags, ...rest }) => {
    const [isStart, isEnd] = flagNames[flags];
    const limit = rest.timeoutMs === 0 ? '' : `, with ${rest.timeoutMs} ms`;
    const then = rest.reaction === 'nothing' ? '' : `, ${rest.reaction}`;
    return step(`ask(sequence ${rest.key}, ${flags}${rest.width === 1 ? '' : `, ${rest.width} wide`}${limit}${then})`, (world) =>
      world.ask({ ...rest, isStart, isEnd }),
    );
  });

/** START, so many in the middle, and END, back to back. */
const burst = fc.record({ key, middle: fc.nat(3) }).map(({ key, middle }) =>
  step(`burst(sequence ${key}, START, ${middle} in the middle, END)`, (world) => {
    const question = { key, width: 1, timeoutMs: 0 };
    world.ask({ ...question, isStart: true, isEnd: false });
    for (let n = 0; n < middle; n++) world.ask({ ...question, isStart: false, isEnd: false });
    world.ask({ ...question, isStart: false, isEnd: true });
  }),
);

/** To a moment at which something is due: a sequence is idle, the backlog's time is over, so is the delay of a batch. */
const advanceTo = (what: 'idle' | 'deadline' | 'delay') =>
  small.map((index) =>
    step(`advanceTo(${what} ${index})`, (world) => {
      const { nowMs } = world;
      const { maxIdleMs } = world.setting;
      const moments = {
        idle: world.line.holders.map(({ seen }) => seen.latestMs + maxIdleMs),
        deadline: world.waiting.map(({ deadlineMs }) => deadlineMs),
        delay: world.waiting.map(({ readyMs }) => readyMs + world.setting.strategy.maxQueueDelayMs),
      }[what];
      const due = pick(
        moments.filter((ms) => ms >= nowMs && ms < Number.POSITIVE_INFINITY),
        index,
      );
      world.time.advance(due === undefined ? 0 : due - nowMs);
      checkTick(world);
    }),
  );

/** Goes on with a sequence shortly before it is idle, or after. */
const comeBack = (when: 'in time' | 'too late') =>
  small.map((index) =>
    step(`comeBack(${index}, ${when})`, (world) => {
      const asked = world.asked.filter(({ holder, isEnd }) => holder?.isClosed === false && !isEnd);
      const last = pick(asked, index);
      if (last?.holder === undefined) return;
      const ms = last.holder.seen.latestMs + world.setting.maxIdleMs - world.nowMs + (when === 'in time' ? -0.01 : 0.01);
      world.time.advance(Math.max(0, ms));
      checkTick(world);
      world.ask({ key: last.key, isStart: false, isEnd: false, width: 1, timeoutMs: 0 });
    }),
  );

const finishAll = step('finishAll', (world) => {
  for (const flight of world.flights) flight.finish();
});

const inFlight = (name: string, act: (flight: Flight, row: number) => void) =>
  fc.tuple(small, small).map(([index, which]) =>
    step(`${name}(${index}, row ${which})`, (world) => {
      const flight = pick(world.flights, index);
      const row = pick(flight?.open ?? [], which);
      if (flight !== undefined && row !== undefined) act(flight, row);
    }),
  );

const badStep = (): InferError => new InferError('INTERNAL', badStepText, { reason: 'BACKEND' });

/** Time passes, and batches end, in any order and way. */
export const endSteps = [
  fc.constantFrom(0, 0, 0, 0.1, 1, 2.5, 4).map(advance),
  fc.constantFrom(0, 0, 0, 0, 2.5, 30).map(advance),
  advanceTo('idle'),
  comeBack('in time'),
  comeBack('too late'),
  advanceTo('deadline'),
  advanceTo('delay'),
  fc.constant(finishAll),
  fc.constant(
    step('finishAll and advance', (world) => {
      for (const flight of world.flights) flight.finish();
      world.time.advance(0);
      checkTick(world);
    }),
  ),
  fc
    .tuple(small, small)
    .map(([index, first]) => step(`finish(${index}, from row ${first} on)`, (world) => pick(world.flights, index)?.finish(first))),
  inFlight('answer', (flight, row) => flight.answer(row)),
  inFlight('failOne', (flight, row) => flight.failOne(row, badStep())),
  small.map((index) => step(`fail(${index})`, (world) => pick(world.flights, index)?.fail(new Error('failed')))),
];

export const sequenceSteps = [ask, ask, ask, burst, burst, ...endSteps];

const iterate = (key: (world: SequenceWorld) => number, name: string) =>
  fc
    .record({ isEnd: fc.boolean(), timeoutMs, width })
    .map((rest) =>
      step(`iterate(${name}${rest.isEnd ? ', END' : ''}${rest.timeoutMs === 0 ? '' : `, with ${rest.timeoutMs} ms`})`, (world) =>
        world.ask({ ...rest, key: key(world), isStart: true }),
      ),
    );

/** Requests that may run again, without an id and with one. */
export const iterativeSteps = [
  iterate(() => 0, 'without an id'),
  iterate(() => 0, 'without an id'),
  iterate((world) => 100 + world.asked.length, 'with an id'),
  inFlight('reschedule', (flight, row) => flight.reschedule(row, 'answering')),
  inFlight('reschedule', (flight, row) => flight.reschedule(row, 'answering')),
  inFlight('reschedule without an answer', (flight, row) => flight.reschedule(row, 'silent')),
];

export const cancelSteps = [
  small.map((index) =>
    step(`cancelWaiting(${index})`, (world) =>
      pick(
        // Those too that are to run again once their batch has ended.
        world.asked.filter(({ state }) => state === 'waiting'),
        index,
      )?.cancel(),
    ),
  ),
  small.map((index) => step(`cancelRunning(${index})`, (world) => pick(world.running, index)?.cancel())),
];

export const deathSteps = [small.map((index) => step(`die(${index})`, (world) => world.die(index)))];

export const stopSteps = [fc.constant(step('drain', (world) => world.drain())), fc.constant(step('stop', (world) => world.stop()))];

/** Runs a story to its end, and finds no fault. */
export const holds = (setting: SequenceSetting, commands: Iterable<Step>): void => {
  const world = new SequenceWorld(setting);
  fc.modelRun(() => ({ model: {}, real: world }), commands);
  finish(world);
  end(world);
  expect(world.faults).toEqual([]);
};

/** The same for one that may drain, which is told by a promise. */
export const holdsAndDrains = async (setting: SequenceSetting, commands: Iterable<Step>): Promise<void> => {
  const world = new SequenceWorld(setting);
  fc.modelRun(() => ({ model: {}, real: world }), commands);
  finish(world);
  // As many turns as promises that stand in a row.
  for (let turn = 0; turn < 5; turn++) await Promise.resolve();
  expect(world.isDrained).toBe(world.isDraining && !world.isStopped);
  end(world);
  expect(world.faults).toEqual([]);
};
