import { type Observer, Subscription } from 'rxjs';
import { InferError } from '../../streams/inference/error.ts';
import type { InferResponse } from '../../streams/inference/response.ts';
import type { AnswerTemplate } from './answer-template.ts';
import { asParseError, type InferService } from './infer-service.ts';
import { parseRequest } from './parse-request.ts';
import { parseVersion } from './parse-version.ts';
import { Answer } from './render-response.ts';
import { shuttingDown } from './status.ts';
import type { UnaryMethod, UnaryReply } from './unary-call.ts';

const unanswered = (): InferError => new InferError('INTERNAL', 'expected a single response, got 0');

/** Sends the one answer of a model, inside its `next`. It is the subscription to the model, too: rxjs then makes none around it. */
class SingleAnswer extends Subscription implements Observer<InferResponse> {
  readonly #template: AnswerTemplate;
  readonly #reply: UnaryReply;
  #isAnswered = false;

  constructor(template: AnswerTemplate, reply: UnaryReply) {
    super();
    this.#template = template;
    this.#reply = reply;
  }

  next(response: InferResponse): void {
    if (this.#isAnswered) return;
    this.#isAnswered = true;
    try {
      this.#reply.answer(new Answer(this.#template, response, 'unsaid'));
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
      return served.infer(request).subscribe(new SingleAnswer(service.answersOf(served).template, reply));
    } catch (error) {
      throw asParseError(error);
    }
  };
