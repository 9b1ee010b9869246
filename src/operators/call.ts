import type { Subscriber } from 'rxjs';
import type { Place } from '../streams/flow/waiting-list.ts';
import type { InferError } from '../streams/inference/error.ts';
import type { InferRequest } from '../streams/inference/request.ts';
import type { InferResponse } from '../streams/inference/response.ts';
import type { WaitingRequest } from './plan-batch.ts';
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
  readonly caller: Subscriber<InferResponse>;
  /** The queue that it is about to enter. */
  readonly holder: Cancellable;
}

/** One request on its way through a model's graph, and the caller that waits for its answers. Ends once. */
export class Call implements WaitingRequest {
  readonly request: InferRequest;
  readonly rows: number;
  readonly shapeKey: string;
  readonly arrivedMs: number;
  readonly #caller: Subscriber<InferResponse>;
  /** Who has the call now, the queue or a running batch, and is told when the caller cancels. */
  holder: Cancellable;
  /** Where it waits, or did. */
  place: Place<Call> | undefined;
  /** Set for a request of a sequence. */
  step: Step | undefined;
  #isOpen = true;

  constructor({ request, rows, shapeKey, arrivedMs, caller, holder }: CallConfig) {
    this.request = request;
    this.rows = rows;
    this.shapeKey = shapeKey;
    this.arrivedMs = arrivedMs;
    this.#caller = caller;
    this.holder = holder;
  }

  /** Until it was completed, failed or cancelled. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  answer(response: InferResponse): void {
    if (this.#isOpen) this.#caller.next(response);
  }

  /** Ends with this answer: a caller that goes away at it has not cancelled. */
  answerLast(response: InferResponse): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#caller.next(response);
    this.#caller.complete();
  }

  complete(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#caller.complete();
  }

  fail(error: InferError): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#caller.error(error);
  }

  /** The caller has unsubscribed; after an end of any kind it means nothing. */
  cancel(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.holder.cancel(this);
  }
}
