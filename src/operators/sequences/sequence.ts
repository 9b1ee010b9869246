import type { Due } from '../../streams/flow/deadlines.ts';
import type { Place } from '../../streams/flow/waiting-list.ts';
import { WaitingList } from '../../streams/flow/waiting-list.ts';
import type { Tensors } from '../../streams/tensors/tensor.ts';
import type { Call, Cancellable } from '../call.ts';
import type { SequenceSlot } from './sequence-slot.ts';

export type SequenceId = bigint | string;

/** `0n` and `''` are no ids. */
export const isNoId = (id: SequenceId): boolean => id === 0n || id === '';

/** Who is told that a caller has gone. */
export interface SequenceKeeper {
  cancelWaiting(sequence: Sequence, call: Call): void;
}

/** One sequence, from its START until its last request has run. Its deadline is that of its requests in the backlog. */
export class Sequence implements Cancellable, Due {
  readonly id: SequenceId;
  /** Of a request without id, so that no other can join it. */
  readonly isInternal: boolean;
  readonly order: number;
  readonly #keeper: SequenceKeeper;
  /** Its requests that wait for their turn. */
  readonly waiting = new WaitingList<Call>();
  /** Undefined while it is in the backlog; stays set when the slot has gone on. */
  slot: SequenceSlot | undefined;
  /** It takes no more requests, and its id is free. */
  isOver = false;
  lastSeenMs = 0;
  backlogPlace: Place<Sequence> | undefined;
  /** Among those that may become idle. */
  seenPlace: Place<Sequence> | undefined;
  /** It became idle in the backlog. */
  isOverdue = false;
  dueMs = Number.POSITIVE_INFINITY;
  at = -1;
  /** Those of its last request, without their bytes; kept only for a last step. */
  lastInputs: Tensors | undefined;
  lastShapeKey = '';

  constructor(id: SequenceId, order: number, isInternal: boolean, keeper: SequenceKeeper) {
    this.id = id;
    this.order = order;
    this.isInternal = isInternal;
    this.#keeper = keeper;
  }

  /** Takes out what waits for its turn. */
  drain(): Call[] {
    const calls = [...this.waiting];
    this.waiting.clear();
    return calls;
  }

  cancel(call: Call): void {
    this.#keeper.cancelWaiting(this, call);
  }
}
