import type { Batch } from '../../src/streams/inference/backend.ts';
import type { DirectStrategy, OldestStrategy } from '../../src/streams/inference/model-spec.ts';
import type { InferRequest } from '../../src/streams/inference/request.ts';
import type { Asked, Holder, SequenceSetting } from './sequence-asked.ts';
import { frontOf } from './sequence-asked.ts';
import type { Controls } from './sequence-controls.ts';
import { readControls } from './sequence-controls.ts';
import { idleFrom, sameTimeMs } from './sequence-line.ts';
import type { WatchedInstance } from './sequence-run.ts';
import { initialStates, readStates, sameStates } from './sequence-states.ts';
import type { SequenceWorld } from './sequence-world.ts';

/** Requests batch only with an equal key: the sizes of what may vary. */
const keyOf = ({ isStart, steps, width, holder }: Asked, { setting }: SequenceWorld): string => {
  if (!setting.hasStates || holder === undefined) return `${width}`;
  return `${width},${isStart && steps === 0 ? initialStates.list.length : holder.states.list.length}`;
};

/** Sequences that were seen on this instance and have a request that could run. */
const readyOn = (world: SequenceWorld, instance: WatchedInstance): readonly Holder[] =>
  world.line.holders.filter((holder) => holder.seat?.instance === instance && frontOf(holder) !== undefined);

/** Sequences that may be on this instance, and were not seen to run yet. */
const unseated = (world: SequenceWorld): readonly Holder[] =>
  world.line.survey().flatMap(({ holder, mayHold }) => (mayHold && holder.seat === undefined && frontOf(holder) ? [holder] : []));

const names = (rows: readonly (Asked | undefined)[]): string => rows.map((asked) => asked?.n ?? '-').join();

/** Nobody else has the slot, and no more sequences are at the instance than may be. */
const checkRoom = (world: SequenceWorld, holder: Holder, seat: NonNullable<Holder['seat']>): void => {
  const { strategy } = world.setting;
  const others = world.line
    .survey()
    .filter((other) => other.holder !== holder && other.presence === 'sure' && other.holder.seat?.instance === seat.instance);
  if (strategy.kind === 'oldest') {
    if (others.length >= strategy.maxCandidateSequences) world.faults.push(`sequence ${holder.n} runs beside ${others.length} others`);
    return;
  }
  const owner = others.find((other) => other.holder.seat?.row === seat.row);
  if (owner !== undefined) world.faults.push(`sequence ${holder.n} runs in the slot of sequence ${owner.holder.n}`);
};

/** It got its slot when it came: then no row below was free, of whichever instance. Those that never ran may have been anywhere. */
const checkLowest = (world: SequenceWorld, { n, wasQueued, before }: Holder, seat: NonNullable<Holder['seat']>): void => {
  if (wasQueued || world.hasLost) return;
  const unseen = before.filter((other) => other.seat === undefined).length;
  const held = new Set(before.flatMap((other) => (other.seat === undefined ? [] : `${other.seat.instance.name}/${other.seat.row}`)));
  const below = world.instances.flatMap(({ name }) => Array.from({ length: seat.row }, (_, row) => `${name}/${row}`));
  const free = below.filter((slot) => !held.has(slot));
  if (free.length > unseen) world.faults.push(`sequence ${n} got row ${seat.row} though ${free} were free`);
};

/** A row of a sequence: it is its turn, it is where its sequence is, and it is told the truth. */
const checkStep = (
  world: SequenceWorld,
  asked: Asked,
  controls: Controls,
  request: InferRequest,
  seat: NonNullable<Holder['seat']>,
): void => {
  const { n, holder, isStart, isEnd, state, isDoomed, steps } = asked;
  const fault = (what: string): void => void world.faults.push(`${n} ${what}`);
  if (holder === undefined) {
    fault('runs without a sequence');
    return;
  }
  if (state !== 'waiting') fault(`runs though it is ${state}`);
  // To run shows that its instance is not the one that is dying.
  if (isDoomed && !world.mayBeLost.some((other) => other === holder)) fault('runs though one before it was cancelled');
  if (holder.flight !== undefined) fault(`runs beside ${holder.flight.n} of its sequence`);
  if (holder.waiting[0] !== asked) fault(`runs before ${holder.waiting[0]?.n}`);
  const surveyed = world.line.survey().find((row) => row.holder === holder);
  if (surveyed?.mayHold !== true) fault('runs without a slot');
  if (request.inputs.get('IN')?.bytes[0] !== n % 256) fault('runs with the input of another');
  if (controls.start !== (isStart && steps === 0)) fault(`is told START ${controls.start}`);
  if (controls.end !== (isEnd && steps === 0)) fault(`is told END ${controls.end}`);
  if (asked.id !== 0n && asked.id !== '' && controls.id !== asked.id) fault(`runs as ${controls.id}`);
  if (holder.told !== undefined && controls.id !== holder.told) fault(`runs as ${controls.id}, its sequence was ${holder.told}`);
  if (controls.id === 0n || controls.id === '') fault('runs without an id');
  if (world.line.survey().some((other) => other.holder !== holder && other.holder.id !== holder.id && other.holder.told === controls.id)) {
    fault(`runs as ${controls.id}, which another sequence has`);
  }
  holder.told = controls.id;
  const { seat: former } = holder;
  const isMoved = former !== undefined && (former.instance !== seat.instance || former.row !== seat.row);
  if (isMoved) fault(`runs at ${seat.instance.name}/${seat.row}, its sequence is at ${former.instance.name}/${former.row}`);
  checkRoom(world, holder, seat);
  if (isStart && steps === 0) holder.states = initialStates;
  if (world.setting.hasStates) {
    const states = readStates(request.inputs);
    if (!sameStates(states, holder.states)) fault(`has the states ${JSON.stringify(states)}, not ${JSON.stringify(holder.states)}`);
  }
  if (former === undefined && world.setting.strategy.kind === 'direct') checkLowest(world, holder, seat);
  if (
    String(request.sequenceId) !== String(controls.id) ||
    request.sequenceStart !== controls.start ||
    request.sequenceEnd !== controls.end
  ) {
    fault('has other flags than its control inputs');
  }
  holder.waiting.splice(holder.waiting.indexOf(asked), 1);
  holder.flight = asked;
  holder.seat = seat;
  asked.state = 'running';
  asked.steps++;
  asked.startedAs = world.started++;
};

/** The step by which the model is told that a sequence was idle. */
const checkIdleStep = (world: SequenceWorld, { start, end, id }: Controls, instance: WatchedInstance, row: number): Asked | undefined => {
  const here = world.line.holders.filter(
    ({ told, seat }) => told === id && seat?.instance === instance && (seat.row === row || seat.row < 0),
  );
  // One that has ended may still be there beside one that has come after it.
  const due = here.filter(({ idleStep, isClosed }) => idleStep === 'due' || !isClosed);
  const holder = due.find(({ waiting, flight }) => waiting.length === 0 && flight === undefined) ?? due[0] ?? here[0];
  const fault = (what: string): void => void world.faults.push(`the idle step of ${id} in row ${row} ${what}`);
  if (holder === undefined) {
    fault('is of no sequence');
    return undefined;
  }
  if (world.nowMs < idleFrom(holder, world.setting).earliestMs) fault('comes too early');
  world.line.becomeIdle(holder);
  if (start || !end) fault(`is told START ${start}, END ${end}`);
  if (holder.waiting.length > 0 || holder.flight !== undefined) fault('does not wait for the requests before it');
  if (holder.idleStep !== 'due') fault('should not be');
  holder.idleStep = 'done';
  const [nowMs, never] = [world.nowMs, Number.POSITIVE_INFINITY];
  const common = { n: -1, key: 0, width: 1, steps: 1, startedAs: -1, ends: 1, message: '', cancel: () => {} };
  const flags = { isStart: false, isEnd: true, isDoomed: false, reaction: 'nothing', state: 'answered' } as const;
  const step: Asked = { ...common, ...flags, id, holder, arrivedMs: nowMs, readyMs: nowMs, deadlineMs: never };
  world.idleSteps.push(step);
  holder.flight = step;
  // The slot goes to the next one at once.
  world.line.leave(holder);
  return step;
};

const checkPadding = (world: SequenceWorld, { start, end, id }: Controls, row: number): void => {
  const isEmpty = id === 0n || id === '';
  if (world.setting.strategy.kind === 'oldest') world.faults.push(`row ${row} of an oldest batch is not ready`);
  if (start || end || !isEmpty) world.faults.push(`row ${row} is not ready, and is told ${start}, ${end}, ${id}`);
};

/** Before the delay is over a direct batch needs its share of slots. */
const checkDelay = (
  world: SequenceWorld,
  strategy: DirectStrategy,
  fronts: readonly Asked[],
  rows: readonly (Asked | undefined)[],
): void => {
  const { maxBatchSize } = world.setting;
  if (strategy.maxQueueDelayMs === 0 || strategy.minimumSlotUtilization === 0) return;
  const oldestMs = Math.min(...fronts.map(({ arrivedMs }) => arrivedMs));
  if (world.nowMs >= oldestMs + strategy.maxQueueDelayMs - sameTimeMs) return;
  if (fronts.length / Math.max(1, maxBatchSize) < strategy.minimumSlotUtilization) {
    world.faults.push(`batch ${names(rows)} goes before its delay, with ${fronts.length} ready`);
  }
};

/** Of so many single rows of one shape, those that go; 0 to wait: rule 1.6 of the dynamic batcher. */
const ruledSize = ({ maxBatchSize }: SequenceSetting, strategy: OldestStrategy, count: number, isDue: boolean): number => {
  const { preferredBatchSizes, maxQueueDelayMs } = strategy;
  const best = Math.max(0, ...preferredBatchSizes.filter((size) => size <= count));
  if (best > 0 && !(isDue && maxQueueDelayMs > 0)) return best;
  return isDue || count >= (preferredBatchSizes.at(-1) ?? 0) ? Math.min(count, Math.max(1, maxBatchSize)) : 0;
};

/** The oldest go, as many as the rule says; asked only where it is sure which requests could have gone. */
const checkOldest = (world: SequenceWorld, strategy: OldestStrategy, batch: readonly (Asked | undefined)[]): void => {
  const rows = world.line.survey();
  const isSure =
    rows.every(
      ({ holder, mayHold, mustHold }) =>
        mayHold === mustHold && (holder.seat !== undefined || (!holder.wasQueued && holder.behind.length === 0)),
    ) && world.setting.instances === 1;
  const fronts = rows.flatMap(({ holder, mayHold }) => (mayHold ? (frontOf(holder) ?? []) : []));
  if (!isSure || new Set(fronts.map((asked) => keyOf(asked, world))).size > 1) return;
  const readyMs = ({ readyMs, holder }: Asked): number => (holder?.seat === undefined ? Math.max(readyMs, holder?.takenMs ?? 0) : readyMs);
  const oldestMs = Math.min(...fronts.map(readyMs));
  const size = ruledSize(world.setting, strategy, fronts.length, world.nowMs >= oldestMs + strategy.maxQueueDelayMs - sameTimeMs);
  if (size !== batch.length) world.faults.push(`batch ${names(batch)} of ${names(fronts)} should have ${size} rows`);
  const youngestMs = Math.max(...batch.map((asked) => (asked === undefined ? 0 : readyMs(asked))));
  const passed = fronts.find((asked) => !batch.includes(asked) && readyMs(asked) < youngestMs - sameTimeMs);
  if (passed !== undefined) world.faults.push(`batch ${names(batch)} goes before ${passed.n}, which is older`);
};

/** Everything that holds of a batch that begins; returns the request of each row, none for one that only fills it up. */
export const checkBatch = (
  world: SequenceWorld,
  { requests, rows, totalRows }: Batch,
  instance: WatchedInstance,
): readonly (Asked | undefined)[] => {
  const { strategy, maxBatchSize, endsIdleWithStep } = world.setting;
  const controls = requests.map(readControls);
  const batch = requests.map(({ id }, row) => (controls[row]?.ready && id !== '' ? world.asked[Number(id)] : undefined));
  const fault = (what: string): void => void world.faults.push(`batch ${names(batch)} ${what}`);
  const ready = readyOn(world, instance);
  const fronts = [...ready, ...unseated(world)].flatMap((holder) => frontOf(holder) ?? []);
  const keys = new Map(fronts.map((asked) => [asked, keyOf(asked, world)]));
  const batchKeys = new Set(batch.flatMap((asked) => (asked === undefined ? [] : keyOf(asked, world))));

  if (requests.length > Math.max(1, maxBatchSize) || totalRows !== requests.length)
    fault(`has ${requests.length} rows and says ${totalRows}`);
  if (rows.some((count) => count !== 1)) fault(`has rows of ${rows}`);
  if (instance.running >= instance.capacity || !instance.isAlive) fault('is beyond the capacity of its instance');
  const inputs = new Set(
    requests.map((request) =>
      [...request.inputs]
        .map(([name, { shape }]) => `${name} ${shape}`)
        .sort()
        .join(),
    ),
  );
  if (batchKeys.size > 1 || inputs.size > 1) fault(`mixes shapes: ${[...inputs].join(' and ')}`);
  // Steps by which the model learns of idle sequences count too, and nobody asks them.
  if (!endsIdleWithStep) {
    if (strategy.kind === 'oldest') checkOldest(world, strategy, batch);
    else checkDelay(world, strategy, fronts, batch);
  }

  for (const [row, request] of requests.entries()) {
    const told = controls[row];
    const asked = batch[row];
    if (told === undefined) continue;
    if (!told.ready) checkPadding(world, told, row);
    else if (asked === undefined) batch[row] = checkIdleStep(world, told, instance, row);
    else checkStep(world, asked, told, request, { instance, row: strategy.kind === 'direct' ? row : -1 });
  }

  if (strategy.kind === 'oldest') return batch;
  if (controls.at(-1)?.ready !== true) fault('ends with rows that are not ready');
  if (instance.running > 0) fault('does not wait for the one before it');
  for (const { seat } of ready) {
    const [left] = ready.filter((holder) => holder.seat === seat).flatMap((holder) => frontOf(holder) ?? []);
    if (left === undefined || seat === undefined) continue;
    if (batchKeys.has(keys.get(left) ?? '')) fault(`leaves out ${left.n}, which is ready in row ${seat.row}`);
    if (controls.every(({ ready: isReady }, row) => !isReady || row > seat.row))
      fault(`is of another shape than ${left.n} in the lowest row`);
  }
  return batch;
};
