import type { InferResponse } from '../../src/streams/inference/response.ts';
import { tensorValues } from '../../src/streams/tensors/tensor-values.ts';
import type { Asked, End, Holder } from './sequence-asked.ts';
import { checkIdleInstances } from './sequence-checks.ts';
import { idleFrom, tickMs } from './sequence-line.ts';
import { shownState } from './sequence-states.ts';
import type { SequenceWorld } from './sequence-world.ts';

/** Whether a sequence takes a request without START. */
type Openness = 'open' | 'maybe' | 'closed';

export const opennessOf = (world: SequenceWorld, holder: Holder): Openness => {
  const { earliestMs, latestMs } = idleFrom(holder, world.setting);
  if (world.nowMs >= latestMs) return 'closed';
  const mayHold = world.line.survey().find((row) => row.holder === holder)?.mayHold ?? false;
  return mayHold && world.nowMs >= earliestMs ? 'maybe' : 'open';
};

const reasons = {
  idle: /^: the sequence was idle for longer than/,
  lost: /^: the instance that ran the sequence has ended/,
  unsure: /^/,
  client: /^$/,
};

/** Whether it was let in as it should be, and what follows from that. */
export const judgeArrival = (world: SequenceWorld, asked: Asked, openness: Openness, waitedBefore: number): void => {
  const { n, holder, state, message, isStart } = asked;
  const { faults, line, setting, isDraining } = world;
  const isRefused = state === 'refused';
  const isOut = isRefused || state === 'full' || state === 'stopped';
  if (state === 'stopped' && !isDraining) faults.push(`${n} hears that the server stops`);
  if (state === 'stopped' && openness === 'open' && !isStart) faults.push(`${n} may not go on: ${message}`);
  if (isDraining && isStart && state !== 'stopped') faults.push(`${n} may start though the server stops`);
  if (state === 'full' && Math.min(waitedBefore, world.waiting.length) < setting.maxQueueSize) faults.push(`${n} was rejected beside room`);
  // What only waits for the end of the tick makes room first.
  if (state === 'full') checkIdleInstances(world);
  if (isRefused && (openness === 'open' || isStart)) faults.push(`${n} was refused: ${message}`);
  if (isRefused && openness === 'closed') {
    const why = message.split('the first request of the sequence')[1] ?? '';
    if (!reasons[line.why(asked.id) ?? 'client'].test(why)) faults.push(`${n} hears that its sequence has ended because${why}`);
  }
  if (!isOut && openness === 'closed' && !isStart) faults.push(`${n} was let in without START`);
  if (holder === undefined) return;
  if (!isOut) {
    if (openness === 'closed') holder.behind.push(...world.ending);
    holder.waiting.push(asked);
    line.forgetWhy(asked.id);
    holder.seen.earliestMs = holder.seen.latestMs = world.nowMs;
    if (asked.isEnd) line.close(holder);
    world.line.settle();
    return;
  }
  if (openness === 'closed') line.leave(holder);
  // At the moment at which it may be idle, this shows that it was.
  if (isRefused) line.becomeIdle(holder);
  // Whether it counts as a sign of life is open.
  holder.seen.latestMs = world.nowMs;
};

export const judgeAnswer = ({ faults, setting }: SequenceWorld, asked: Asked, { id, outputs }: InferResponse): void => {
  const { n, width, holder } = asked;
  const bytes = outputs.get('OUT')?.bytes;
  if (asked.state !== 'running') faults.push(`${n} got an answer though it is ${asked.state}`);
  if (id !== `${n}` || bytes?.length !== width || bytes[0] !== n % 256) faults.push(`${n} got the answer of another`);
  if (!setting.hasStates) return;
  const shown = outputs.get(shownState);
  const list = shown === undefined ? [] : [...tensorValues(shown)].map(Number);
  if (list.join() !== holder?.states.list.join()) faults.push(`${n} got the state ${list}, not ${holder?.states.list}`);
  if ([...outputs.keys()].sort().join() !== ['OUT', shownState].sort().join()) faults.push(`${n} got ${[...outputs.keys()]}`);
};

export const judgeEnd = (world: SequenceWorld, asked: Asked, end: End): void => {
  const { n, state, holder } = asked;
  const { faults } = world;
  if (end === 'unknown') faults.push(`${n} ended with: ${asked.message}`);
  if ((end === 'refused' || end === 'full') && world.asking !== asked) faults.push(`${n} was ${end} late`);
  if (end === 'answered' && state !== 'running') faults.push(`${n} was answered though it was ${state}`);
  if (end === 'failed' && state !== 'running' && !asked.isDoomed) faults.push(`${n} failed though it was ${state}`);
  if (end === 'dropped' && !asked.isDoomed) faults.push(`${n} was dropped, and none before it was cancelled`);
  if (end === 'stopped' && !world.isStopped && !world.isDraining) faults.push(`${n} was stopped`);
  // It was at the instance that has died.
  if (end === 'failed' && state === 'waiting' && holder?.waiting.includes(asked)) world.line.end(holder, holder.waiting[0], 'lost');
  if (end === 'expired' && !asked.isDoomed) checkExpired(world, asked);
  asked.state = end;
  asked.ends++;
  const { strategy } = world.setting;
  if (strategy.kind === 'direct' || !strategy.preserveOrdering || state !== 'running' || world.isStopped) return;
  const earlier = world.running.find(({ startedAs }) => startedAs < asked.startedAs);
  if (earlier !== undefined) faults.push(`${n} has its answer before ${earlier.n}, which began to run before it`);
};

const checkExpired = (world: SequenceWorld, { n, holder }: Asked): void => {
  const deadlineMs = holder?.waiting.reduce((least, other) => Math.min(least, other.deadlineMs), Number.POSITIVE_INFINITY) ?? 0;
  const lateMs = world.nowMs - deadlineMs;
  if (!(lateMs > -tickMs && lateMs < tickMs)) world.faults.push(`${n} expired at ${world.nowMs}, not at ${deadlineMs}`);
  if (holder === undefined) return;
  const row = world.line.survey().find((other) => other.holder === holder);
  if (row?.mustHold !== false || holder.flight !== undefined) world.faults.push(`${n} expired in its slot`);
  world.onExpired(holder);
};
