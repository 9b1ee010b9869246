import type { Subscriber, TeardownLogic } from 'rxjs';
import { machineScheduler } from '../../streams/flow/clock.ts';
import type { Batch, Part } from '../../streams/inference/backend.ts';
import { type InferError, toInferError } from '../../streams/inference/error.ts';
import type { InferRequest } from '../../streams/inference/request.ts';
import { answerFields, areas, firstAnswer } from './batch-layout.ts';
import type { ModelPorts } from './model-ports.ts';
import { readAnswer } from './read-answer.ts';
import { type Run, Slot } from './slot.ts';
import type { SlotState } from './slot-state.ts';
import { answerMessages, highestSlots, slotMessage, slotMessages, type ToWorker } from './worker-protocol.ts';

export interface RunsConfig {
  readonly ports: ModelPorts;
  /** Batches that the worker may have at once, those that nobody waits for any more among them. */
  readonly slots: number;
  readonly post: (message: ToWorker) => void;
  readonly postNumber: (message: number) => void;
  /** The worker has a batch more. */
  readonly onBegun: () => void;
  /** The caller of a request in a slot has gone, or with −1 those of all, or the batch is over. */
  readonly onCancelled: (slot: number, of: number) => void;
  /** The worker has a batch less. Called once it may have the next one. */
  readonly onEnded: () => void;
}

/** The batches of one instance: in slots where the worker sees them, or waiting for one. */
export class Runs {
  readonly #config: RunsConfig;
  readonly #slots: Slot[] = [];
  readonly #free: Slot[] = [];
  readonly #waiting: Run[] = [];

  constructor(config: RunsConfig) {
    this.#config = config;
  }

  /** Batches that wait for a slot. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** States of the slots that the worker has. */
  get busy(): readonly SlotState[] {
    return this.#slots.flatMap(({ run, state }) => (run === undefined ? [] : state));
  }

  /** Of those whose model does not wait for room for its answers. */
  get working(): readonly SlotState[] {
    return this.#slots.flatMap(({ run, state, held }) => (run === undefined || held.length > 0 ? [] : state));
  }

  /** Whether somebody waits for an answer. */
  get isWanted(): boolean {
    return this.#waiting.length > 0 || this.busy.some(({ isAbandoned }) => !isAbandoned);
  }

  requestsIn(slot: number): readonly InferRequest[] | undefined {
    return this.#slots[slot]?.run?.batch.requests;
  }

  begin(batch: Batch, subscriber: Subscriber<Part>): TeardownLogic {
    const run: Run = { batch, subscriber, slot: undefined, gone: [] };
    const onCancelled = (of: number): void => this.#cancelOne(run, of);
    batch.onCancelled = onCancelled;
    this.#waiting.push(run);
    this.#startWaiting();
    return () => this.#cancel(run);
  }

  use(slot: number, area: number, memory: SharedArrayBuffer): void {
    this.#slots[slot]?.use(area, memory);
  }

  /** An `answerMessage` of the worker. */
  receive(message: number): void {
    const place = Math.floor(message / 4);
    const slot = this.#slots[place % highestSlots];
    const kind = message % 4;
    if (slot === undefined) return;
    if (kind === answerMessages.done) this.#endWith(slot, this.#finish);
    else if (kind === answerMessages.answer) {
      slot.held.push(Math.floor(place / highestSlots));
      this.#emitHeld(slot);
    } else slot.run?.batch.releaseInstance?.();
  }

  fail(index: number, error: InferError): void {
    const slot = this.#slots[index];
    if (slot === undefined) return;
    this.#endWith(slot, () => {
      const { run } = slot;
      this.#freeSlot(slot);
      run?.subscriber.error(error);
    });
  }

  /** The worker is gone: no run is under way any more. Those that were are to be failed by the caller. */
  lose(): readonly Run[] {
    const lost = [...this.#slots.flatMap(({ run }) => run ?? []), ...this.#waiting.splice(0)];
    for (const slot of this.#slots) detach(slot);
    return lost;
  }

  #startWaiting(): void {
    while (this.#waiting.length > 0) {
      const slot = this.#takeSlot();
      const run = slot === undefined ? undefined : this.#waiting.shift();
      if (slot === undefined || run === undefined) return;
      this.#start(run, slot);
    }
  }

  #takeSlot(): Slot | undefined {
    const free = this.#free.pop();
    if (free !== undefined || this.#slots.length >= this.#config.slots) return free;
    const slot: Slot = new Slot(this.#slots.length, this.#config.ports, () => this.#emitHeld(slot));
    this.#slots.push(slot);
    slot.memories[areas.inputs] = slot.inputs.buffer;
    this.#config.post({ kind: 'slot', slot: slot.index, state: slot.state.shared, inputs: slot.inputs.shared });
    return slot;
  }

  #start(run: Run, slot: Slot): void {
    const { batch, subscriber } = run;
    try {
      if (slot.inputs.write(batch)) {
        slot.memories[areas.inputs] = slot.inputs.buffer;
        this.#config.post({ kind: 'slot', slot: slot.index, state: undefined, inputs: slot.inputs.shared });
      }
    } catch (error) {
      this.#free.push(slot);
      subscriber.error(toInferError(error, 'BACKEND'));
      return;
    }
    slot.run = run;
    run.slot = slot;
    slot.state.reset();
    for (const of of run.gone) slot.inputs.mark(of);
    this.#config.postNumber(slotMessage(slot.index, slotMessages.begin));
    this.#config.onBegun();
  }

  #cancelOne({ slot, gone }: Run, of: number): void {
    gone.push(of);
    if (slot === undefined) return;
    slot.inputs.mark(of);
    this.#config.onCancelled(slot.index, of);
    this.#config.post({ kind: 'cancelled', slot: slot.index, of });
    this.#emitHeld(slot);
  }

  #cancel(run: Run): void {
    const { slot } = run;
    if (slot === undefined) {
      const position = this.#waiting.indexOf(run);
      if (position >= 0) this.#waiting.splice(position, 1);
      return;
    }
    for (const of of run.batch.requests.keys()) slot.inputs.mark(of);
    // After the marks: a model that is ended for it looks at them.
    slot.state.isAbandoned = true;
    forgetDemand(slot, run);
    this.#config.onCancelled(slot.index, -1);
    this.#config.post({ kind: 'cancelled', slot: slot.index, of: -1 });
    this.#emitHeld(slot);
  }

  /** At once, or after the answers that are held. */
  #endWith(slot: Slot, end: (slot: Slot) => void): void {
    if (slot.run === undefined) return;
    if (slot.held.length === 0) end(slot);
    else slot.end = end;
  }

  /** Emits the answers of a generator as long as who asked has room for them. */
  #emitHeld(slot: Slot): void {
    // Emitting may make room, or take it.
    if (slot.isEmitting) return;
    slot.isEmitting = true;
    while (slot.held.length > 0 && this.#hasRoom(slot)) {
      const position = slot.held.shift();
      if (position !== undefined) this.#emitOne(slot, position);
    }
    slot.isEmitting = false;
    this.#countHeld(slot);
    const { end } = slot;
    if (end === undefined || slot.held.length > 0) return;
    slot.end = undefined;
    end(slot);
  }

  /** For the answer that is next. Where there is none, the slot hears when there is. */
  #hasRoom({ run, words, held, onOpen }: Slot): boolean {
    if (run === undefined || run.subscriber.closed) return true;
    const of = words[(held[0] ?? 0) + answerFields.of] ?? 0;
    const demand = run.batch.requests[of]?.demand;
    if (demand === undefined || run.gone.includes(of)) return true;
    const { isOpen } = demand;
    demand.onOpen = isOpen ? undefined : onOpen;
    return isOpen;
  }

  /** The time for which a model's answers had no room is not the model's. */
  #countHeld(slot: Slot): void {
    const { held, state } = slot;
    if (held.length === 0 && slot.heldSinceMs === 0) return;
    const nowMs = machineScheduler.now();
    if (held.length === 0) {
      if (state.beganMs > 0) state.beganMs += nowMs - slot.heldSinceMs;
      slot.heldSinceMs = 0;
    } else if (slot.heldSinceMs === 0) slot.heldSinceMs = nowMs;
  }

  /** One of many answers. The memory that it lies in is the worker's again after it. */
  #emitOne(slot: Slot, position: number): void {
    const { run, state } = slot;
    if (run !== undefined && !run.subscriber.closed) {
      if (run.batch.times.inputEndMs === 0) run.batch.times.inputEndMs = machineScheduler.now();
      run.subscriber.next(readAnswer(slot.words, position, slot.memories, this.#config.ports.outputs));
    }
    state.addRead();
    const { awaited } = state;
    if (awaited === 0 || state.read < awaited) return;
    state.awaited = 0;
    this.#config.postNumber(slotMessage(slot.index, slotMessages.read));
  }

  /** Emits while the slot is still taken, since the worker overwrites a free one; completes after, since that may bring the next batch. */
  readonly #finish = (slot: Slot): void => {
    const { run, words, state, memories } = slot;
    if (run === undefined) return;
    const { batch, subscriber } = run;
    if (!subscriber.closed) {
      batch.times.outputStartMs = machineScheduler.now();
      batch.times.inputEndMs = batch.times.outputStartMs - state.runMs;
      let at = firstAnswer;
      for (let left = words[0] ?? 0; left > 0 && !subscriber.closed; left--) {
        subscriber.next(readAnswer(words, at, memories, this.#config.ports.outputs));
        at += words[at + answerFields.length] ?? 0;
      }
    }
    this.#freeSlot(slot);
    subscriber.complete();
  };

  #freeSlot(slot: Slot): void {
    this.#config.onCancelled(slot.index, -1);
    detach(slot);
    this.#free.push(slot);
    this.#startWaiting();
    this.#config.onEnded();
  }
}

/** A run that has ended knows its slot no longer: that it is unsubscribed then means nothing. */
const detach = (slot: Slot): void => {
  const { run } = slot;
  slot.run = undefined;
  slot.held.length = 0;
  slot.heldSinceMs = 0;
  slot.end = undefined;
  if (run === undefined) return;
  run.slot = undefined;
  run.batch.onCancelled = undefined;
  forgetDemand(slot, run);
};

const forgetDemand = ({ onOpen }: Slot, { batch }: Run): void => {
  for (const { demand } of batch.requests) if (demand?.onOpen === onOpen) demand.onOpen = undefined;
};
