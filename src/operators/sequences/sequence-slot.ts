import type { Place } from '../../streams/flow/waiting-list.ts';
import type { Part } from '../../streams/inference/backend.ts';
import type { ModelSpec } from '../../streams/inference/model-spec.ts';
import type { InferRequest } from '../../streams/inference/request.ts';
import type { Call, Cancellable } from '../call.ts';
import type { Step } from '../step.ts';
import { controlInputs } from './control-inputs.ts';
import { ImplicitState } from './implicit-state.ts';
import type { Sequence } from './sequence.ts';

/** Forms the batches of one instance from the slots that are its own. */
export interface SlotBatcher {
  /** Of those with the same slot number the lower is filled first. */
  readonly order: number;
  readonly slots: readonly SequenceSlot[];
  /** Its instance has ended: it begins nothing any more. */
  readonly isClosed: boolean;
  /** The slot has a call that goes next. */
  offer(slot: SequenceSlot): void;
  /** That call has left. */
  withdraw(call: Call): void;
  /** Decides now what would be decided at the end of the tick. */
  hurry(): void;
  /** A sequence has left one of its slots: what it needed is given back. */
  vacated?(): void;
  /** Its instance has ended, or the model. */
  close(): void;
}

/** Who is told what happens in a slot. */
export interface SlotKeeper {
  cancelNext(slot: SequenceSlot, call: Call): void;
  /** The call of `owner` has run; it is to run again if `isRescheduled`, unless it has ended. */
  released(slot: SequenceSlot, call: Call, owner: Sequence, isRescheduled: boolean): void;
}

export type SlotSpec = Pick<ModelSpec, 'name' | 'outputs' | 'maxBatchSize' | 'decoupled' | 'sequenceBatching'>;

/** What the slots of a model have in common. */
export class SlotKind {
  readonly spec: SlotSpec;
  readonly keeper: SlotKeeper;
  readonly addControls: ReturnType<typeof controlInputs>;
  readonly hasStates: boolean;
  readonly hasInputs: boolean;
  readonly isIterative: boolean;

  constructor(spec: SlotSpec, keeper: SlotKeeper) {
    const { controls = [], states = [], isIterative = false } = spec.sequenceBatching ?? {};
    this.spec = spec;
    this.keeper = keeper;
    this.addControls = controlInputs(spec);
    this.hasStates = states.length > 0;
    this.hasInputs = states.length + controls.length > 0;
    this.isIterative = isIterative;
  }
}

/**
 * A place of an instance that one sequence holds at a time, and what stays there between its steps: the states. It has at most one call, which
 * waits to go next or runs; that may still be the last one of the sequence before.
 */
export class SequenceSlot implements Step, Cancellable {
  /** Row of the instance's batches, in the direct strategy. */
  readonly index: number;
  readonly batcher: SlotBatcher;
  readonly #kind: SlotKind;
  readonly #state: ImplicitState | undefined;
  /** Who holds the slot. */
  sequence: Sequence | undefined;
  /** Among the free ones whose last call still runs. */
  freePlace: Place<SequenceSlot> | undefined;
  #call: Call | undefined;
  #owner: Sequence | undefined;
  #isRunning = false;
  /** Its call ran before, and runs as a step that neither starts nor ends the sequence. */
  #isAgain = false;
  #isRescheduled = false;
  /** The call's own key, without that of the states. */
  #shapeKey = '';
  #request: InferRequest | undefined;

  constructor(index: number, batcher: SlotBatcher, kind: SlotKind) {
    this.index = index;
    this.batcher = batcher;
    this.#kind = kind;
    this.#state = kind.hasStates ? new ImplicitState(kind.spec) : undefined;
  }

  get isIterative(): boolean {
    return this.#kind.isIterative;
  }

  get mayEndEarly(): boolean {
    return !this.#kind.hasStates && !this.#kind.isIterative;
  }

  /** Whether a call waits here or runs. */
  get isTaken(): boolean {
    return this.#call !== undefined;
  }

  /** The call that waits to go next. */
  get next(): Call | undefined {
    return this.#isRunning ? undefined : this.#call;
  }

  /** Of the call that is here. */
  get owner(): Sequence | undefined {
    return this.#owner;
  }

  /** Its call is the last one of its sequence. */
  get isAtEnd(): boolean {
    return !this.#kind.isIterative && this.#call?.request.sequenceEnd === true;
  }

  /** Gives it its next call, and no other before that one has left. */
  put(call: Call, owner: Sequence): void {
    this.#call = call;
    this.#owner = owner;
    this.#isAgain = false;
    this.#shapeKey = call.shapeKey;
    this.#await(call);
  }

  /** The call that was here runs once more. */
  putAgain(call: Call, owner: Sequence): void {
    this.#call = call;
    this.#owner = owner;
    this.#isAgain = true;
    this.#await(call);
  }

  /** No sequence has it any more: what its states had grown to is given back, once no call runs that reads them. */
  vacate(): void {
    if (this.#call !== undefined) return;
    this.#state?.reset();
    this.batcher.vacated?.();
  }

  /** Takes out the call that waits. */
  drop(): Call | undefined {
    const call = this.next;
    if (call !== undefined) this.#clear();
    return call;
  }

  /** Its call begins to run. */
  begin(): Call | undefined {
    const call = this.next;
    if (call !== undefined) this.#isRunning = true;
    return call;
  }

  cancel(call: Call): void {
    // One that runs again is told so when its step has ended.
    if (!this.#isRunning) this.#kind.keeper.cancelNext(this, call);
  }

  request(): InferRequest {
    this.#request ??= this.#prepared();
    return this.#request;
  }

  take(part: Part): Part {
    return this.#state === undefined ? part : this.#state.take(part);
  }

  reschedule(): void {
    if (this.#call === undefined) return;
    this.#isRescheduled = true;
    this.#call.holder = this;
  }

  released(): void {
    const call = this.#call;
    const owner = this.#owner;
    const isRescheduled = this.#isRescheduled;
    this.#clear();
    if (call !== undefined && owner !== undefined) this.#kind.keeper.released(this, call, owner, isRescheduled);
  }

  get #starts(): boolean {
    return !this.#isAgain && (this.#owner?.isInternal === true || this.#call?.request.sequenceStart === true);
  }

  #await(call: Call): void {
    call.step = this;
    call.holder = this;
    call.place = undefined;
    if (this.#state === undefined) return;
    const { shapeKey } = this.#state;
    call.shapeKey = shapeKey === '' || this.#starts ? this.#shapeKey : `${this.#shapeKey}|${shapeKey}`;
  }

  #prepared(): InferRequest {
    const owner = this.#owner;
    const request = this.#call?.request;
    if (request === undefined || owner === undefined) throw new Error(`slot ${this.index} has nothing to run`);
    const start = this.#starts;
    const end = !this.#isAgain && request.sequenceEnd;
    if (start) this.#state?.reset();
    const isAsItCame = start === request.sequenceStart && end === request.sequenceEnd && !owner.isInternal;
    if (!this.#kind.hasInputs && isAsItCame) return request;
    const inputs = new Map(request.inputs);
    this.#kind.addControls(inputs, { start, end, ready: true, sequenceId: owner.id });
    this.#state?.addTo(inputs);
    return { ...request, inputs, sequenceId: owner.id, sequenceStart: start, sequenceEnd: end };
  }

  #clear(): void {
    this.#call = undefined;
    this.#owner = undefined;
    this.#request = undefined;
    this.#isRunning = false;
    this.#isRescheduled = false;
  }
}
