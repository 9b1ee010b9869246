import { finalize, type Observable, Subject } from 'rxjs';
import type { RunningModel } from '../../src/operators/run-model.ts';
import { runModel } from '../../src/operators/run-model.ts';
import type { Batch, Instance } from '../../src/streams/inference/backend.ts';
import type { InferError } from '../../src/streams/inference/error.ts';
import { makeLog, makePlacement, makeRequest } from '../../test/support/model.ts';
import { VirtualTime } from '../../test/support/virtual-time.ts';
import type { Asked, Holder, Question, SequenceSetting } from './sequence-asked.ts';
import { endOf, isOnItsWay } from './sequence-asked.ts';
import { checkBatch } from './sequence-batch.ts';
import { idOf } from './sequence-controls.ts';
import { Line } from './sequence-line.ts';
import type { Flight } from './sequence-run.ts';
import { WatchedInstance } from './sequence-run.ts';
import { sequenceSpec } from './sequence-spec.ts';
import { nextStates } from './sequence-states.ts';
import { judgeAnswer, judgeArrival, judgeEnd, opennessOf } from './sequence-verdicts.ts';

/** A running sequence model on virtual time, what it was asked, and the faults found so far. */
export class SequenceWorld {
  readonly setting: SequenceSetting;
  readonly time = new VirtualTime();
  readonly asked: Asked[] = [];
  /** By which the model was told that sequences were idle; nobody asked them. */
  readonly idleSteps: Asked[] = [];
  readonly instances: WatchedInstance[] = [];
  /** Collected here and asserted by the property: what is thrown inside of a stream may never be seen. */
  readonly faults: string[] = [];
  readonly line: Line;
  readonly #lives = new Map<WatchedInstance, Subject<Instance>>();
  readonly #running;
  #model: RunningModel | undefined;
  /** It is on its way in. */
  asking: Asked | undefined;
  /** Requests that have begun to run. */
  started = 0;
  isDraining = false;
  isDrained = false;
  /** An instance has died. */
  hasLost = false;
  isStopped = false;
  /** Sequences that end with an instance that is just dying, if they were there. */
  mayBeLost: readonly Holder[] = [];

  constructor(setting: SequenceSetting) {
    this.setting = setting;
    this.line = new Line(setting, this);
    this.#running = runModel({
      spec: sequenceSpec(setting),
      placements: Array.from({ length: setting.instances }, (_, n) => ({ placement: makePlacement(), open: () => this.#openInstance(n) })),
      layers: [],
      sink: () => {},
      scheduler: this.time,
      log: makeLog(),
    }).subscribe({
      next: (model) => {
        this.#model = model;
      },
      error: (error) => this.faults.push(`the model ended: ${error}`),
    });
    for (const instance of this.instances) this.#rise(instance);
  }

  get model(): RunningModel {
    if (this.#model === undefined) throw new Error('the model did not start');
    return this.#model;
  }

  get nowMs(): number {
    return this.time.now();
  }

  /** One that is to run again waits only when its batch has ended. */
  get waiting(): readonly Asked[] {
    return this.asked.filter((asked) => asked.state === 'waiting' && asked.holder?.flight !== asked);
  }

  get running(): readonly Asked[] {
    return this.asked.filter(({ state }) => state === 'running');
  }

  get flights(): readonly Flight[] {
    return this.instances.flatMap(({ flights }) => flights.filter(({ isOver }) => !isOver));
  }

  /** Last steps of sequences that wait at the front, or run: whether each still does. */
  get ending(): readonly (() => boolean)[] {
    const last = [...this.asked, ...this.idleSteps].filter((asked) => asked.isEnd && isOnItsWay(asked));
    const idle = this.line.holders.filter(({ idleStep }) => idleStep === 'due');
    return [
      ...last.map((asked) => () => isOnItsWay(asked)),
      ...idle.map((holder) => () => holder.idleStep === 'due' || holder.flight !== undefined),
    ];
  }

  get slots(): number {
    const { strategy, maxBatchSize } = this.setting;
    const each = strategy.kind === 'oldest' ? strategy.maxCandidateSequences : Math.max(1, maxBatchSize);
    return each * this.instances.filter(({ isAlive }) => isAlive).length;
  }

  ask({ key, isStart, isEnd, width, timeoutMs, reaction = 'nothing' }: Question): void {
    this.line.settle();
    const id = idOf(key, this.setting.ids);
    const known = id === 0n || id === '' ? undefined : this.line.known(id);
    const openness = known === undefined ? 'closed' : opennessOf(this, known);
    // Whether it would begin anew or end with the rest cannot be seen from here.
    if (isStart && (openness === 'maybe' || this.mayBeLost.some((holder) => holder === known))) return;
    const starts = isStart || (this.setting.isIterative && (id === 0n || id === ''));
    const holder = known ?? (starts ? this.line.begin(id) : undefined);
    const n = this.asked.length;
    const nowMs = this.nowMs;
    const asked: Asked = {
      n,
      key,
      id,
      isStart: starts,
      isEnd,
      width,
      arrivedMs: nowMs,
      deadlineMs: timeoutMs === 0 ? Number.POSITIVE_INFINITY : nowMs + timeoutMs,
      reaction,
      holder,
      state: 'waiting',
      ends: 0,
      message: '',
      isDoomed: false,
      readyMs: nowMs,
      steps: 0,
      startedAs: -1,
      cancel: () => {},
    };
    const waitedBefore = this.waiting.length;
    this.asked.push(asked);
    this.asking = asked;
    const request = makeRequest(
      { id: `${n}`, sequenceId: id, sequenceStart: isStart, sequenceEnd: isEnd, timeoutMicroseconds: BigInt(Math.round(timeoutMs * 1000)) },
      this.setting.maxBatchSize > 0 ? [1, width] : [width],
      n % 256,
    );
    const caller = this.model.infer(request).subscribe({
      next: (response) => judgeAnswer(this, asked, response),
      error: (error: InferError) => {
        asked.message = error.message;
        judgeEnd(this, asked, endOf(error));
        this.#react(asked);
      },
      complete: () => {
        judgeEnd(this, asked, 'answered');
        this.#react(asked);
      },
    });
    this.asking = undefined;
    asked.cancel = () => this.#cancel(asked, () => caller.unsubscribe());
    judgeArrival(this, asked, openness, waitedBefore);
  }

  /** Inside of the answer, while its batch still runs, or of the error. */
  #react({ reaction, key, n, state }: Asked): void {
    if (this.isStopped) return;
    const next = { key, isEnd: n % 3 === 0, width: 1, timeoutMs: 0 };
    if (state === 'answered' && reaction === 'goes on') this.ask({ ...next, isStart: false });
    if (state === 'answered' && reaction === 'cancels another') this.waiting[n % Math.max(1, this.waiting.length)]?.cancel();
    const isLost = state === 'failed' || state === 'dropped' || state === 'expired';
    if (isLost && reaction === 'starts again') this.ask({ ...next, isStart: true });
  }

  /** One that waits ends its sequence: those behind it are dropped, and its id is free. */
  #cancel(asked: Asked, hangUp: () => void): void {
    const { holder, state } = asked;
    if (state !== 'waiting' && state !== 'running') return;
    asked.state = 'cancelled';
    asked.ends++;
    // One that is to run again counts as running until its batch has ended, and then does not.
    if (holder?.flight === asked) holder.waiting.splice(0, holder.waiting[0] === asked ? 1 : 0);
    if (state === 'running' || holder === undefined || holder.flight === asked) {
      hangUp();
      return;
    }
    const row = this.line.survey().find((other) => other.holder === holder);
    const ahead = holder.waiting.slice(0, holder.waiting.indexOf(asked));
    if (row?.mustHold !== true) for (const other of ahead) other.isDoomed = true;
    const isQueued = row?.mayHold === false;
    // One that has a slot, and has not run yet, may be behind the end of the sequence that had it before.
    if (!isQueued && holder.seat === undefined) holder.behind.push(...this.ending);
    this.line.end(holder, isQueued ? holder.waiting[0] : asked);
    hangUp();
    if (isQueued) return;
    for (const other of this.line.holders) this.line.tidy(other);
    // Whether it was still in the backlog shows now.
    for (const other of ahead) other.isDoomed = false;
    if (ahead.some((other) => other.state === 'dropped')) this.line.end(holder, holder.waiting[0]);
  }

  /** Those of the backlog end as a whole. */
  onExpired(holder: Holder): void {
    this.line.end(holder, holder.waiting[0]);
  }

  onBatch(batch: Batch, instance: WatchedInstance): readonly (Asked | undefined)[] {
    this.line.settle();
    const rows = checkBatch(this, batch, instance);
    for (const asked of rows) {
      const holder = asked?.holder;
      if (asked?.isEnd !== true || holder === undefined) continue;
      // Its slot goes to the next one at once.
      if (!this.setting.isIterative) this.line.leave(holder);
    }
    return rows;
  }

  /** The model has computed a step. */
  onAnswering({ holder, n }: Asked): void {
    if (holder !== undefined) holder.states = nextStates(holder.states, n);
  }

  /** It is to run again, once its batch has ended. */
  onRescheduled(asked: Asked): void {
    if (asked.state !== 'running') return;
    asked.state = 'waiting';
    asked.holder?.waiting.unshift(asked);
  }

  onReleased({ asked: rows }: Flight): void {
    for (const asked of rows) {
      const holder = asked?.holder;
      if (asked === undefined || holder === undefined) continue;
      holder.flight = undefined;
      const [next] = holder.waiting;
      if (next !== undefined) next.readyMs = this.nowMs;
      // A request of an iterative sequence that does not run again is its last.
      if (this.setting.isIterative && next !== asked) this.line.close(holder);
      // To run again is to have come again.
      else if (this.setting.isIterative) this.line.see(holder);
      this.line.tidy(holder);
    }
    for (const holder of this.line.holders) {
      const [front] = holder.waiting;
      // It may have waited for one of these to leave its slot.
      if (holder.seat === undefined && front !== undefined && rows.some((asked) => asked?.isEnd)) front.readyMs = this.nowMs;
      this.line.tidy(holder);
    }
  }

  /** The instance dies, and its sequences with it; another follows after a pause. */
  die(index: number): void {
    this.line.settle();
    const alive = this.instances.filter(({ isAlive }) => isAlive);
    const dying = alive[index % Math.max(1, alive.length)];
    if (dying === undefined) return;
    const held = this.line.survey().filter(({ mayHold }) => mayHold);
    const isThere = ({ holder: { seat }, mustHold }: (typeof held)[number]): boolean =>
      seat?.instance === dying || (mustHold && alive.length === 1);
    const unseen = held.flatMap((row) => (isThere(row) || row.holder.seat !== undefined ? [] : row.holder));
    for (const row of held) if (isThere(row)) this.line.end(row.holder, row.holder.waiting[0], 'lost');
    // Where these are nobody has seen: they may end.
    for (const { waiting } of unseen) for (const asked of waiting) asked.isDoomed = true;
    dying.isAlive = false;
    this.hasLost = true;
    this.mayBeLost = unseen;
    this.#lives.get(dying)?.error(new Error('died'));
    this.mayBeLost = [];
    for (const holder of unseen) {
      for (const asked of holder.waiting) asked.isDoomed = false;
      if (holder.waiting.some(({ state }) => state === 'failed')) this.line.end(holder, holder.waiting[0], 'lost');
    }
  }

  /** From here on nothing starts, and what has started goes on. */
  drain(): void {
    this.isDraining = true;
    this.model.drain().then(
      () => {
        this.isDrained = !this.isStopped;
      },
      (error) => this.faults.push(`draining failed: ${error}`),
    );
  }

  stop(): void {
    this.isStopped = true;
    this.#running.unsubscribe();
  }

  #openInstance(place: number): Observable<Instance> {
    const life = new Subject<Instance>();
    const instance = new WatchedInstance(this, `${place}`, this.setting.capacity);
    this.instances.push(instance);
    this.#lives.set(instance, life);
    if (this.#model === undefined) return life;
    // A later life begins by itself, unless the model ends before.
    const rising = this.time.schedule(() => this.#rise(instance), 1);
    return life.pipe(finalize(() => rising.unsubscribe()));
  }

  #rise(instance: WatchedInstance): void {
    instance.isAlive = true;
    this.#lives.get(instance)?.next(instance);
  }
}
