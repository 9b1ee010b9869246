import { type Observer, Subscription } from 'rxjs';
import type { Demand } from '../../streams/flow/demand.ts';
import type { Place } from '../../streams/flow/waiting-list.ts';
import { InferError } from '../../streams/inference/error.ts';
import type { InferResponse } from '../../streams/inference/response.ts';
import { Answer, type Asked, emptyFinal } from './render-response.ts';
import { learnBytes, type ServedAnswers } from './served-answers.ts';

/** A message to the client about one request. */
export type StreamMessage = Answer | Buffer;

/** Takes what becomes of a request. The bytes of an `Answer` are there until `onMessage` returns. */
export interface StreamRequestOwner {
  onMessage(request: StreamRequest, message: StreamMessage): void;
  /** One answer of a decoupled model has failed; others may follow. */
  onAnswerError(request: StreamRequest, error: unknown): void;
  /** The request has failed, and ends with that. */
  onFailure(request: StreamRequest, error: unknown): void;
  /** Nothing more comes. */
  onEnd(request: StreamRequest): void;
  /** Whether there is room for more answers. */
  readonly takesMore: boolean;
}

/** How a model answers: `single` with one response, `decoupled` with any number. */
export type AnswerMode = 'single' | 'decoupled';

const unanswered = (): InferError => new InferError('INTERNAL', 'expected a single response, got 0');

/**
 * One request of a stream: turns what its model emits into messages. It is the subscription to the model, too, and rxjs then makes none around
 * it: so it can be ended while a model emits all of its answers at once. Unsubscribing stops the model. It is what a decoupled model asks for room, too.
 */
export class StreamRequest extends Subscription implements Observer<InferResponse>, Demand {
  readonly asked: Asked;
  /** Bytes of the message that it came in. */
  readonly requestBytes: number;
  /** What its answer is expected to take, until it comes; 0 for a decoupled model, of which nobody knows what comes and when. */
  reservedBytes = 0;
  /** True while its model is being asked: a failure then is one of issuing it. */
  isBeingIssued = true;
  /** Its message is on its way: for a request that is answered in turn. */
  isSent = false;
  isInLine = false;
  /** Where it stands among the stream's requests in flight. */
  place: Place<StreamRequest> | undefined;
  /** The message that waits for its turn. */
  waiting: StreamMessage | undefined;
  /** A decoupled model's end without an answer is told in a message of its own. */
  wantsEmptyFinal = false;
  onOpen: (() => void) | undefined;
  readonly #owner: StreamRequestOwner;
  #answers: ServedAnswers | undefined;
  #mode: AnswerMode = 'single';
  #isAnswered = false;
  #saidLast = false;

  constructor(owner: StreamRequestOwner, asked: Asked, requestBytes: number) {
    super();
    this.#owner = owner;
    this.asked = asked;
    this.requestBytes = requestBytes;
  }

  /** Answers of a decoupled model go out as they come, others, and all errors before the model is known, in the order of their requests. */
  get isInTurn(): boolean {
    return this.#mode === 'single';
  }

  /** One that has ended keeps nobody waiting. */
  get isOpen(): boolean {
    return this.closed || this.#owner.takesMore;
  }

  /** There may be room again. */
  reopen(): void {
    if (this.onOpen !== undefined && this.isOpen) this.onOpen();
  }

  setModel(answers: ServedAnswers, mode: AnswerMode): void {
    this.#answers = answers;
    this.#mode = mode;
    this.reservedBytes = mode === 'single' ? answers.expectedBytes : 0;
  }

  next(response: InferResponse): void {
    const answers = this.#answers;
    if (this.closed || answers === undefined) return;
    if (this.isInTurn && this.#isAnswered) return;
    if (response.error !== undefined) {
      if (this.isInTurn) this.#owner.onFailure(this, response.error);
      else this.#owner.onAnswerError(this, response.error);
      return;
    }
    const isLast = response.isLast || this.isInTurn;
    this.#isAnswered = true;
    this.#saidLast ||= isLast;
    try {
      const answer = new Answer(answers.template, response, isLast ? 'last' : 'more');
      learnBytes(answers, answer.byteLength);
      this.#owner.onMessage(this, answer);
    } catch (error) {
      this.#owner.onFailure(this, error);
    }
  }

  error(error: unknown): void {
    if (!this.closed) this.#owner.onFailure(this, error);
  }

  complete(): void {
    if (this.closed) return;
    if (this.isInTurn && !this.#isAnswered) {
      this.#owner.onFailure(this, unanswered());
      return;
    }
    if (this.wantsEmptyFinal && !this.#saidLast) this.#owner.onMessage(this, emptyFinal(this.asked));
    if (this.closed) return;
    this.unsubscribe();
    this.#owner.onEnd(this);
  }
}
