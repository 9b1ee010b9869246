import { type Observer, Subscription } from 'rxjs';
import type { ServedModel } from '../../streams/inference/data-plane.ts';
import { InferError } from '../../streams/inference/error.ts';
import type { InferRequest } from '../../streams/inference/request.ts';
import type { InferResponse } from '../../streams/inference/response.ts';
import type { RoomEntry, Ticket } from './answer-room.ts';
import { shuttingDown } from './client-error.ts';
import { asParseError, type InferService } from './infer-service.ts';
import { parseRequest } from './parse-request.ts';
import { parseVersion } from './parse-version.ts';
import { Answer } from './render-response.ts';
import { learnBytes, type ServedAnswers } from './served-answers.ts';
import type { UnaryMethod, UnaryReply, UnaryWork } from './unary-call.ts';

const unanswered = (): InferError => new InferError('INTERNAL', 'expected a single response, got 0');

interface Question {
  readonly request: InferRequest;
  readonly served: ServedModel;
  readonly answers: ServedAnswers;
  readonly requestBytes: number;
}

/** Asks a model once there is room for its answer, and sends it inside its `next`. It is the subscription to the model, too: rxjs makes none around it. */
class SingleAnswer extends Subscription implements Observer<InferResponse>, RoomEntry {
  readonly #question: Question;
  readonly #reply: UnaryReply;
  #ticket: Ticket | undefined;
  #isAnswered = false;

  constructor(question: Question, reply: UnaryReply) {
    super();
    this.#question = question;
    this.#reply = reply;
  }

  get answers(): ServedAnswers {
    return this.#question.answers;
  }

  get requestBytes(): number {
    return this.#question.requestBytes;
  }

  onRoom(ticket: Ticket): void {
    if (this.closed) return;
    this.#ticket = ticket;
    const { served, request } = this.#question;
    try {
      served.infer(request).subscribe(this);
    } catch (error) {
      // Whoever made the room is another call, and has nothing to do with it.
      this.error(error);
    }
  }

  next(response: InferResponse): void {
    if (this.#isAnswered) return;
    this.#isAnswered = true;
    try {
      const answer = new Answer(this.answers.template, response, 'unsaid');
      learnBytes(this.answers, answer.byteLength);
      this.#ticket?.answered(answer.byteLength);
      this.#reply.answer(answer);
    } catch (error) {
      this.#reply.fail(error);
    }
  }

  error(error: unknown): void {
    this.#reply.fail(error);
    this.unsubscribe();
  }

  complete(): void {
    if (!this.#isAnswered) this.#reply.fail(unanswered());
    this.unsubscribe();
  }
}

/** Lasts until the call is over, which is when its answer has gone. */
class InferWork implements UnaryWork {
  readonly #service: InferService;
  readonly #answer: SingleAnswer;
  readonly #ticket: Ticket;

  constructor(service: InferService, answer: SingleAnswer, ticket: Ticket) {
    this.#service = service;
    this.#answer = answer;
    this.#ticket = ticket;
  }

  get outboxBytes(): number {
    return this.#ticket.bytes;
  }

  unsubscribe(): void {
    this.#answer.unsubscribe();
    this.#service.room.leave(this.#ticket);
  }
}

/** `ModelInfer`: one question, one answer. */
export const modelInfer =
  (service: InferService): UnaryMethod =>
  (message, metadata, reply) => {
    if (service.isShuttingDown) throw shuttingDown();
    const wire = service.read(message);
    const version = parseVersion(wire.modelVersion);
    const served = service.dataPlane.model(wire.modelName, version);
    if (served.spec.decoupled) {
      throw new InferError('UNIMPLEMENTED', "ModelInfer RPC doesn't support models with decoupled transaction policy");
    }
    try {
      const { request } = parseRequest(wire, version, served.spec, service.forwarded(metadata));
      const question = { request, served, answers: service.answersOf(served), requestBytes: message.length };
      const answer = new SingleAnswer(question, reply);
      return new InferWork(service, answer, service.room.enter(reply.peer, answer));
    } catch (error) {
      throw asParseError(error);
    }
  };
