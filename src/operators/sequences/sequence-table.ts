import type { BufferCounters } from '../../streams/flow/buffer-when-free.ts';
import type { Scheduler } from '../../streams/flow/clock.ts';
import type { InferError } from '../../streams/inference/error.ts';
import type { Log } from '../../streams/inference/log.ts';
import type { ModelSpec, SequenceBatching } from '../../streams/inference/model-spec.ts';
import type { Call } from '../call.ts';
import { stoppingError } from '../stopping-error.ts';
import { EndedSequences } from './ended-sequences.ts';
import { idleStep, shapesOf } from './idle-step.ts';
import { InternalIds } from './internal-ids.ts';
import type { OpenSequences } from './open-sequences.ts';
import { isNoId, Sequence, type SequenceId, type SequenceKeeper } from './sequence.ts';
import { cancelledError, conflictText, expiredError, fullError, idleText, lostError, lostText } from './sequence-errors.ts';
import { sequenceFault } from './sequence-fault.ts';
import type { SequenceSlot, SlotBatcher, SlotKeeper } from './sequence-slot.ts';
import { SequenceWatch } from './sequence-watch.ts';
import { drainSlots, SlotLine, type WaitingCall } from './slot-line.ts';

export interface SequenceTableConfig {
  readonly spec: Pick<ModelSpec, 'name' | 'maxQueueSize' | 'sequenceBatching'>;
  readonly batching: SequenceBatching;
  readonly scheduler: Scheduler;
  readonly log: Log;
  readonly counters: BufferCounters;
  readonly open: OpenSequences;
  /** The model takes no new sequences. */
  readonly isStopping: () => boolean;
  /** Something has come, gone on or ended. */
  readonly onChange: () => void;
}

/**
 * The sequences of one model: which slot each has, and in what order those wait that have none. Calls come in by `arrive` and leave through the
 * batchers of their slots, unless they end here: refused, full, cancelled, expired, or lost with their instance. State is changed first and
 * callers are told last, for they may ask or cancel again at once.
 */
export class SequenceTable implements SequenceKeeper, SlotKeeper {
  readonly #config: SequenceTableConfig;
  readonly #fault: ReturnType<typeof sequenceFault>;
  /** Those that take requests, by id. */
  readonly #live = new Map<SequenceId, Sequence>();
  readonly #line: SlotLine;
  readonly #ended = new EndedSequences();
  readonly #watch: SequenceWatch;
  readonly #batchers: SlotBatcher[] = [];
  readonly #internalIds: InternalIds;
  #sequences = 0;
  #running = 0;
  #isClosed = false;

  constructor(config: SequenceTableConfig) {
    const { spec, scheduler, batching } = config;
    this.#config = config;
    this.#fault = sequenceFault(spec);
    this.#internalIds = new InternalIds(batching);
    this.#line = new SlotLine({
      strategy: batching.strategy,
      scheduler,
      onPromoted: (sequence) => this.#watch.promoted(sequence),
    });
    this.#watch = new SequenceWatch({
      scheduler,
      maxIdleMs: batching.maxIdleMs,
      onIdle: (sequence) => this.#endIdle(sequence),
      onExpired: (sequence) => this.#expire(sequence),
    });
  }

  get batchers(): readonly SlotBatcher[] {
    return this.#batchers;
  }

  /** Requests that wait in slots. */
  get queuedInSlots(): number {
    return this.#config.counters.queued - this.#line.backlog.requests;
  }

  /** What waits for a slot. */
  get backlog(): SlotLine['backlog'] {
    return this.#line.backlog;
  }

  /** The last call of the slot's sequence is on its way. */
  handOver(slot: SequenceSlot): void {
    this.#line.handOver(slot);
  }

  /** No request waits or runs. */
  get isEmpty(): boolean {
    return this.#config.counters.queued + this.#running === 0;
  }

  arrive(call: Call): void {
    const { counters, spec, log } = this.#config;
    const { request } = call;
    // What waits only for the end of the tick must not count against the one that comes now.
    if (counters.queued >= spec.maxQueueSize) for (const batcher of [...this.#batchers]) batcher.hurry();
    counters.in++;
    const known = this.#live.get(request.sequenceId);
    const error = this.#refusal(call, known);
    if (error !== undefined) {
      counters.rejected++;
      call.fail(error);
      return;
    }
    if (known !== undefined && request.sequenceStart) log.warning(conflictText(known.id, spec.name));
    const sequence = known ?? this.#begin(request.sequenceId);
    if (request.sequenceEnd) this.#over(sequence);
    else if (!sequence.isOver) this.#see(sequence, call);
    counters.queued++;
    this.#enqueue(sequence, call);
    this.#config.onChange();
  }

  addSlots(batcher: SlotBatcher): void {
    this.#batchers.push(batcher);
    this.#line.open(batcher.slots);
  }

  /**
   * Their instance has ended, and the sequences that it had end with it: from now on nothing joins them. Returns what waited of them, for
   * `lose`, once what ran there has failed: callers may start again when they hear of that.
   */
  removeSlots(batcher: SlotBatcher): readonly WaitingCall[] {
    const index = this.#batchers.indexOf(batcher);
    if (index >= 0) this.#batchers.splice(index, 1);
    const waiting = drainSlots([batcher]);
    for (const slot of batcher.slots) {
      const { sequence } = slot;
      this.#line.close(slot);
      if (sequence === undefined) continue;
      if (!sequence.isOver) this.#ended.note(sequence.id, lostText);
      this.#over(sequence);
    }
    return waiting;
  }

  lose(waiting: readonly WaitingCall[], cause: unknown): void {
    const { spec, counters } = this.#config;
    counters.queued -= waiting.length;
    counters.forgotten += waiting.length;
    for (const [call, { id }] of waiting) call.fail(lostError(id, spec.name, cause));
  }

  /** The slot's call begins to run. */
  begin(slot: SequenceSlot): void {
    const call = slot.begin();
    if (call === undefined) return;
    this.#running++;
    if (!call.isOpen) return;
    this.#config.counters.queued--;
    this.#config.counters.out++;
  }

  released(slot: SequenceSlot, call: Call, owner: Sequence, isRescheduled: boolean): void {
    this.#running--;
    if (this.#isClosed) {
      if (isRescheduled) call.fail(stoppingError(call.request));
      return;
    }
    if (slot.batcher.isClosed) {
      // Its next step has nowhere to run.
      if (isRescheduled) call.fail(lostError(owner.id, this.#config.spec.name, undefined));
    } else if (isRescheduled && call.isOpen) {
      this.#runAgain(slot, call, owner);
    } else {
      if (this.#config.batching.isIterative) this.#over(owner);
      this.#line.settle(slot);
    }
    this.#config.onChange();
  }

  cancelNext(slot: SequenceSlot, call: Call): void {
    const { owner } = slot;
    if (slot.next !== call || owner === undefined) return;
    slot.drop();
    slot.batcher.withdraw(call);
    this.#cancelRest(owner, slot, owner.drain());
  }

  cancelWaiting(sequence: Sequence, call: Call): void {
    const { slot } = sequence;
    if (call.place?.isTaken !== true) return;
    if (slot === undefined) {
      // Nothing of it has run: then nothing of it will.
      this.#line.backlog.remove(sequence);
      this.#watch.keepFromExpiring(sequence);
      this.#cancelRest(sequence, undefined, sequence.drain());
    } else {
      this.#cancelRest(sequence, slot, sequence.waiting.cut(call.place));
    }
  }

  /** The model ends: nothing comes or goes any more. */
  close(): void {
    const { counters } = this.#config;
    this.#isClosed = true;
    this.#watch.stop();
    const calls = drainSlots(this.#batchers).map(([call]) => call);
    for (const sequence of this.#line.backlog) calls.push(...sequence.drain());
    for (const sequence of [...this.#live.values()]) this.#over(sequence);
    counters.queued -= calls.length;
    counters.forgotten += calls.length;
    for (const call of calls) call.fail(stoppingError(call.request));
  }

  #refusal(call: Call, known: Sequence | undefined): InferError | undefined {
    const { counters, spec, isStopping } = this.#config;
    const { request, rows } = call;
    const isKnown = known !== undefined;
    const fault = this.#fault(
      { request, rows, isKnown, isStopping: isStopping(), endedBecause: isKnown ? undefined : this.#ended.why(request.sequenceId) },
      call.arrivedMs,
    );
    return fault ?? (counters.queued >= spec.maxQueueSize ? fullError(call) : undefined);
  }

  #begin(id: SequenceId): Sequence {
    const isInternal = isNoId(id);
    const sequence = new Sequence(isInternal ? this.#internalIds.next() : id, this.#sequences++, isInternal, this);
    if (isInternal) {
      sequence.isOver = true;
    } else {
      this.#live.set(id, sequence);
      this.#ended.forget(id);
      this.#config.open.opened();
    }
    this.#line.enter(sequence);
    return sequence;
  }

  #see(sequence: Sequence, { arrivedMs, request, shapeKey }: Call): void {
    this.#watch.seen(sequence, arrivedMs);
    if (!this.#config.batching.endsIdleWithStep) return;
    sequence.lastInputs = shapesOf(request.inputs);
    sequence.lastShapeKey = shapeKey;
  }

  #enqueue(sequence: Sequence, call: Call): void {
    this.#line.queue(sequence, call);
    const { timeoutMicroseconds } = call.request;
    if (sequence.slot !== undefined || timeoutMicroseconds <= 0n) return;
    this.#watch.expireAt(sequence, call.arrivedMs + Number(timeoutMicroseconds) / 1000);
  }

  #runAgain(slot: SequenceSlot, call: Call, owner: Sequence): void {
    const { counters, scheduler } = this.#config;
    counters.in++;
    counters.queued++;
    call.arrivedMs = scheduler.now();
    call.queuedSinceMs = call.arrivedMs;
    if (!owner.isOver) this.#watch.seen(owner, call.arrivedMs);
    slot.putAgain(call, owner);
    slot.batcher.offer(slot);
  }

  /** It takes no more requests; those that wait still run. */
  #over(sequence: Sequence): void {
    if (sequence.isOver) return;
    sequence.isOver = true;
    this.#live.delete(sequence.id);
    this.#watch.over(sequence);
    this.#config.open.closed();
  }

  #endIdle(sequence: Sequence): void {
    const { batching, spec, scheduler } = this.#config;
    this.#over(sequence);
    this.#ended.note(sequence.id, idleText(batching.maxIdleMs));
    if (batching.endsIdleWithStep) sequence.waiting.push(idleStep(sequence, spec.name, scheduler.now()));
    if (sequence.slot !== undefined) this.#line.settle(sequence.slot);
  }

  #expire(sequence: Sequence): void {
    const { counters } = this.#config;
    this.#line.backlog.remove(sequence);
    this.#over(sequence);
    const calls = sequence.drain();
    counters.queued -= calls.length;
    counters.rejected += calls.length;
    for (const call of calls) call.fail(expiredError());
    this.#config.onChange();
  }

  /** A caller has gone while its request waited: those behind it cannot go on without it. */
  #cancelRest(sequence: Sequence, slot: SequenceSlot | undefined, rest: readonly Call[]): void {
    const { counters } = this.#config;
    const open = rest.filter((call) => call.isOpen);
    const count = open.length + 1;
    this.#over(sequence);
    counters.queued -= count;
    counters.withdrawn += count;
    if (slot !== undefined) this.#line.settle(slot);
    for (const call of open) call.fail(cancelledError());
    this.#config.onChange();
  }
}
