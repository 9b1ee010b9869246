import type { Holder } from './sequence-asked.ts';
import { frontOf } from './sequence-asked.ts';
import { tickMs } from './sequence-line.ts';
import type { WatchedInstance } from './sequence-run.ts';
import type { SequenceWorld } from './sequence-world.ts';

/** What holds at every moment. */
export const checkAlways = (world: SequenceWorld): void => {
  const { faults, asked, setting } = world;
  const { stages, instances } = world.model.graph();
  const ordered = setting.strategy.kind === 'oldest' && setting.strategy.preserveOrdering;
  for (const { name, in: entered, out, failed, queued, running, limit } of stages) {
    if (entered !== out + failed + queued + running) faults.push(`stage ${name} lost count`);
    if (limit > 0 && queued > limit) faults.push(`${queued} wait in stage ${name}, ${limit} may`);
  }
  const queued = stages.reduce((sum, stage) => sum + stage.queued, 0);
  const running = stages.reduce((sum, stage) => sum + stage.running, 0);
  if (queued !== world.waiting.length) faults.push(`${queued} are said to wait, ${world.waiting.length} do`);
  // Answers that wait for others have left their stage.
  const isAgreed = ordered ? running <= world.running.length : running === world.running.length;
  if (!isAgreed) faults.push(`${running} are said to run, ${world.running.length} do`);
  if (queued > setting.maxQueueSize) faults.push(`${queued} wait, ${setting.maxQueueSize} may`);
  if (!world.isStopped && instances.busy !== world.flights.length)
    faults.push(`${instances.busy} batches are said to run, ${world.flights.length} do`);
  for (const { n, ends, state } of asked) {
    if (ends !== (state === 'waiting' || state === 'running' ? 0 : 1)) faults.push(`${n} is ${state} and ended ${ends} times`);
  }
};

/** From when its front should have gone, if its instance was free; Infinity if more may still come first. */
const dueMs = (world: SequenceWorld, holders: readonly Holder[]): number => {
  const { strategy, maxBatchSize } = world.setting;
  const oldestMs = Math.min(
    ...holders.map((holder) => Math.max(frontOf(holder)?.arrivedMs ?? 0, frontOf(holder)?.readyMs ?? 0, holder.takenMs)),
  );
  if (strategy.kind === 'oldest')
    return holders.length >= Math.min(...strategy.preferredBatchSizes) ? 0 : oldestMs + strategy.maxQueueDelayMs;
  if (holders.length / Math.max(1, maxBatchSize) >= strategy.minimumSlotUtilization) return 0;
  return oldestMs + strategy.maxQueueDelayMs;
};

/** Nothing that can go waits beside an instance that is free. */
export const checkIdleInstances = (world: SequenceWorld): void => {
  const surveyed = world.line.survey();
  const free = world.instances.filter(({ isAlive, running }) => isAlive && running === 0);
  const canGo = ({ holder, mustHold }: (typeof surveyed)[number]): boolean => mustHold && frontOf(holder) !== undefined;
  const check = (holders: readonly Holder[], instance: WatchedInstance | undefined): void => {
    if (holders.length === 0 || world.nowMs < dueMs(world, holders) + tickMs) return;
    world.faults.push(`${holders.map((holder) => frontOf(holder)?.n)} wait beside instance ${instance?.name}, which is free`);
  };
  for (const instance of free) {
    check(
      surveyed.filter((row) => canGo(row) && row.holder.seat?.instance === instance).map(({ holder }) => holder),
      instance,
    );
  }
  // Nobody has seen where it is: all are free, so its own is.
  if (free.length < world.setting.instances) return;
  for (const row of surveyed) if (canGo(row) && row.holder.seat === undefined) check([row.holder], free[0]);
};

/** What holds at the end of a tick, when all that is due has happened. */
export const checkTick = (world: SequenceWorld): void => {
  if (world.isStopped) return;
  world.line.settle();
  for (const { holder, mayHold } of world.line.survey()) {
    const { waiting } = holder;
    const deadlineMs = waiting.reduce((least, asked) => Math.min(least, asked.deadlineMs), Number.POSITIVE_INFINITY);
    if (!mayHold && deadlineMs + tickMs < world.nowMs) world.faults.push(`${waiting[0]?.n} waits in the backlog past ${deadlineMs}`);
  }
  for (const { n, state, isDoomed } of world.asked)
    if (isDoomed && state === 'waiting') world.faults.push(`${n} waits, but should have ended`);
  checkIdleInstances(world);
};

/** Lets everything that is inside come to its end. */
export const finish = (world: SequenceWorld): void => {
  for (let rounds = 0; rounds < 300 && !world.isStopped && world.faults.length === 0; rounds++) {
    world.time.advance(1000);
    checkTick(world);
    for (const flight of world.flights) flight.finish();
    if (world.waiting.length === 0 && world.running.length === 0 && world.flights.length === 0 && world.line.holders.length === 0) break;
  }
  world.time.advance(0);
  checkAlways(world);
  const { stages, instances } = world.model.graph();
  if (stages.some(({ queued, running }) => queued + running > 0) || instances.busy > 0) world.faults.push('something is left inside');
  for (const { n, state } of [...world.waiting, ...world.running]) world.faults.push(`${n} is ${state} in the end`);
  for (const { n } of world.isStopped ? [] : world.line.holders) world.faults.push(`sequence ${n} is still there in the end`);
};

/** Ends the model itself: after this nothing is to happen any more. */
export const end = (world: SequenceWorld): void => {
  world.stop();
  if (world.time.pending > 0) world.faults.push('a timer is left');
};
