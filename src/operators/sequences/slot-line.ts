import type { Scheduler } from '../../streams/flow/clock.ts';
import type { SequenceStrategy } from '../../streams/inference/model-spec.ts';
import type { Call } from '../call.ts';
import { FreeSlots } from './free-slots.ts';
import type { Sequence } from './sequence.ts';
import { SequenceBacklog } from './sequence-backlog.ts';
import type { SequenceSlot, SlotBatcher } from './sequence-slot.ts';

export interface SlotLineConfig {
  readonly strategy: SequenceStrategy;
  readonly scheduler: Scheduler;
  /** A sequence of the backlog has got its slot. */
  readonly onPromoted: (sequence: Sequence) => void;
}

/** Who has which slot, and in what order those wait that have none. While any slot is free nobody waits. */
export class SlotLine {
  readonly backlog = new SequenceBacklog();
  readonly #config: SlotLineConfig;
  readonly #free: FreeSlots;
  #isPromoting = false;

  constructor(config: SlotLineConfig) {
    this.#config = config;
    this.#free = new FreeSlots(config.strategy.kind);
  }

  open(slots: readonly SequenceSlot[]): void {
    for (const slot of slots) this.#free.add(slot);
    this.#promote();
  }

  /** Its instance has ended. */
  close(slot: SequenceSlot): void {
    slot.sequence = undefined;
    this.#free.remove(slot);
  }

  /** Gives a new sequence a slot, or a place in the backlog. */
  enter(sequence: Sequence): void {
    const slot = this.#free.take();
    if (slot === undefined) this.backlog.add(sequence);
    else hold(slot, sequence);
  }

  /** A call of the sequence: it goes next, or waits for its turn. */
  queue(sequence: Sequence, call: Call): void {
    const { slot } = sequence;
    if (slot !== undefined && !slot.isTaken && sequence.waiting.length === 0) {
      this.#offer(slot, call, sequence);
      return;
    }
    call.holder = sequence;
    call.place = sequence.waiting.push(call);
    if (slot === undefined) this.backlog.grow();
  }

  /** Gives the slot what comes next, if nothing is there: a call of its sequence, or another sequence. */
  settle(slot: SequenceSlot): void {
    const { sequence } = slot;
    if (slot.isTaken || slot.batcher.isClosed) return;
    if (sequence === undefined) {
      slot.vacate();
      this.#free.cleared(slot);
      return;
    }
    const call = sequence.waiting.shift();
    if (call !== undefined) {
      call.arrivedMs = this.#turnMs(call);
      this.#offer(slot, call, sequence);
    } else if (sequence.isOver) {
      this.#release(slot);
    }
  }

  /** The last call of its sequence is on its way: the slot goes on to the next one, whose turn comes after that call. */
  handOver(slot: SequenceSlot): void {
    if (slot.sequence !== undefined && slot.sequence === slot.owner) this.#release(slot);
  }

  #offer(slot: SequenceSlot, call: Call, owner: Sequence): void {
    slot.put(call, owner);
    slot.batcher.offer(slot);
  }

  /** Oldest batches count the delay from a request's turn on, direct ones from its arrival. */
  #turnMs({ arrivedMs }: Call): number {
    return this.#config.strategy.kind === 'oldest' ? this.#config.scheduler.now() : arrivedMs;
  }

  #release(slot: SequenceSlot): void {
    slot.sequence = undefined;
    if (slot.batcher.isClosed) return;
    slot.vacate();
    this.#free.add(slot);
    this.#promote();
  }

  /** A sequence of one request may give its slot back at once: the loop that runs already sees it. */
  #promote(): void {
    if (this.#isPromoting) return;
    this.#isPromoting = true;
    while (this.backlog.length > 0) {
      const slot = this.#free.take();
      const sequence = slot === undefined ? undefined : this.backlog.shift();
      if (slot === undefined || sequence === undefined) break;
      hold(slot, sequence);
      this.#config.onPromoted(sequence);
      this.settle(slot);
    }
    this.#isPromoting = false;
  }
}

const hold = (slot: SequenceSlot, sequence: Sequence): void => {
  slot.sequence = sequence;
  sequence.slot = slot;
};

/** With its sequence. */
export type WaitingCall = readonly [Call, Sequence];

/** All calls of slots of these batchers that wait, each with its sequence; takes them out. */
export const drainSlots = (batchers: readonly SlotBatcher[]): readonly WaitingCall[] => {
  const all: WaitingCall[] = [];
  for (const slot of batchers.flatMap(({ slots }) => slots)) {
    const { sequence, owner } = slot;
    const next = slot.drop();
    if (next?.isOpen && owner !== undefined) all.push([next, owner]);
    if (sequence === undefined) continue;
    for (const call of sequence.drain()) if (call.isOpen) all.push([call, sequence]);
  }
  return all;
};
