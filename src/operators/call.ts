import type { Observer, Unsubscribable } from 'rxjs';
import type { InOrder, Turn } from '../streams/flow/in-order.ts';
import type { Place } from '../streams/flow/waiting-list.ts';
import type { InferError } from '../streams/inference/error.ts';
import type { InferRequest } from '../streams/inference/request.ts';
import type { InferResponse } from '../streams/inference/response.ts';
import type { WaitingRequest } from './batching/plan-batch.ts';
import type { Door } from './door.ts';
import type { Step } from './step.ts';

/** What a call does when its caller goes away. */
export interface Cancellable {
  cancel(call: Call): void;
}

interface CallConfig {
  readonly request: InferRequest;
  readonly rows: number;
  readonly shapeKey: string;
  readonly arrivedMs: number;
  readonly caller: Observer<InferResponse>;
  /** The queue that it is about to enter. */
  readonly holder: Cancellable;
  /** By which it leaves in the end. */
  readonly door?: Pick<Door, 'leave'> | undefined;
}

/**
 * One request on its way through a model's graph, and the caller that waits for its answers. Ends once. It is what the caller unsubscribes, as one object:
 * thousands of them may wait.
 */
export class Call implements WaitingRequest, Unsubscribable {
  readonly request: InferRequest;
  readonly rows: number;
  /** Of the step that is next, for a request of a sequence. */
  shapeKey: string;
  /** When it came into the queue that it is in: that is later than `queuedSinceMs` for a request that waited for its turn in a sequence. */
  arrivedMs: number;
  /** From when on statistics count it as waiting. */
  queuedSinceMs: number;
  readonly #caller: Observer<InferResponse>;
  readonly #door: Pick<Door, 'leave'> | undefined;
  /** Its turn among the answers of the model, where these leave in order. */
  #turn: Turn<InferResponse> | undefined;
  /** Who has the call now, the queue or a running batch, and is told when the caller cancels. */
  holder: Cancellable;
  /** Where it waits, or did. */
  place: Place<Call> | undefined;
  /** Set for a request of a sequence. */
  step: Step | undefined;
  /** Those of a decoupled model so far, for its statistics. */
  answers = 0;
  #isOpen = true;

  constructor({ request, rows, shapeKey, arrivedMs, caller, holder, door }: CallConfig) {
    this.request = request;
    this.rows = rows;
    this.shapeKey = shapeKey;
    this.arrivedMs = arrivedMs;
    this.queuedSinceMs = arrivedMs;
    this.#caller = caller;
    this.#door = door;
    this.holder = holder;
  }

  /** Until it was completed, failed or cancelled. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Gives its answers a turn in `order`, unless they have one already. */
  answerIn(order: InOrder<InferResponse>): void {
    if (this.#isOpen) this.#turn ??= order.open(this.#caller);
  }

  answer(response: InferResponse): void {
    if (this.#isOpen) this.#out.next(response);
  }

  /** Ends with this answer: a caller that goes away at it has not cancelled. */
  answerLast(response: InferResponse): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#out.next(response);
    this.#out.complete();
  }

  complete(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#out.complete();
  }

  fail(error: InferError): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#out.error(error);
  }

  /** Its caller waits no more, whether it has had its end or not. Called once. */
  unsubscribe(): void {
    this.cancel();
    this.#door?.leave();
  }

  /** The caller has gone; after an end of any kind it means nothing. */
  cancel(): void {
    if (this.#isOpen) {
      this.#isOpen = false;
      this.holder.cancel(this);
    }
    this.#turn?.unsubscribe();
  }

  get #out(): Observer<InferResponse> {
    return this.#turn ?? this.#caller;
  }
}

const nobody = { next: () => {}, error: () => {}, complete: () => {}, cancel: () => {} };

/** A row of a batch that nobody asked for: a call that has ended before. */
export const endedCall = (request: InferRequest, shapeKey: string, arrivedMs: number): Call => {
  const call = new Call({ request, rows: 1, shapeKey, arrivedMs, caller: nobody, holder: nobody });
  call.complete();
  return call;
};
