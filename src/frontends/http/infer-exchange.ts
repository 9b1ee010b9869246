import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Observer, Subscription } from 'rxjs';
import type { DataPlane, ServedModel } from '../../streams/inference/data-plane.ts';
import { InferError } from '../../streams/inference/error.ts';
import { forwardHeaders, type HeaderPattern } from '../../streams/inference/header-forwarding.ts';
import type { KnownHeads } from '../../streams/inference/json/known-heads.ts';
import type { Rendering } from '../../streams/inference/json/rendering.ts';
import { allBinary } from '../../streams/inference/json/rendering.ts';
import type { InferRequest } from '../../streams/inference/request.ts';
import type { InferResponse } from '../../streams/inference/response.ts';
import type { BodyMemory } from './body-memory.ts';
import { type ContentCoding, decompress, requestCoding, responseCoding } from './content-coding.ts';
import { drain } from './drain.ts';
import { headerLengthHeader, parseHeaderLength } from './header-length.ts';
import type { BodyLimits } from './parse-request.ts';
import { parseRequest } from './parse-request.ts';
import type { Body, BodyLimit, BodyTaker } from './read-body.ts';
import { isTooManyChunks, readBodyFor } from './read-body.ts';
import { type RenderedAnswer, renderAnswer, sendAnswer, sendCompressed, sendError } from './render-response.ts';

/** What the infer requests of one server share. */
export interface InferContext {
  readonly dataPlane: DataPlane;
  readonly limits: BodyLimits;
  readonly memory: BodyMemory;
  readonly isForwarded: HeaderPattern | undefined;
  readonly heads: KnownHeads;
}

/**
 * One infer request on HTTP: reads the body, asks the model, sends exactly one answer. A connection that closes first unsubscribes. The faults of
 * a request are found in Triton's order: model, compression, lengths, body.
 */
export class InferExchange implements Observer<InferResponse>, BodyTaker {
  readonly #context: InferContext;
  readonly #message: IncomingMessage;
  readonly #response: ServerResponse;
  #served: ServedModel | undefined;
  #modelVersion = '';
  #coding: ContentCoding = 'identity';
  #headerLength: number | undefined;
  #rendering: Rendering = allBinary;
  #body: Body | undefined;
  #answer: RenderedAnswer | undefined;
  #failure: unknown;
  #responses = 0;
  #subscription: Subscription | undefined;
  /** The client has gone: nothing is to be sent. */
  #isClosed = false;

  constructor(context: InferContext, message: IncomingMessage, response: ServerResponse) {
    this.#context = context;
    this.#message = message;
    this.#response = response;
  }

  run(modelName: string, modelVersion: string): void {
    // It closes once; `once` would wrap the listener.
    this.#response.on('close', this.#onClose);
    try {
      const { dataPlane, limits, memory } = this.#context;
      const served = dataPlane.model(modelName, modelVersion);
      if (served.spec.decoupled) {
        throw new InferError('UNIMPLEMENTED', "HTTP end point doesn't support models with decoupled transaction policy");
      }
      this.#served = served;
      this.#modelVersion = modelVersion;
      const { headers } = this.#message;
      this.#coding = requestCoding(headers['content-encoding']);
      this.#headerLength = parseHeaderLength(headers[headerLengthHeader]);
      const limit = this.#coding === 'identity' ? plainLimit(this.#headerLength, limits) : limits.compressed;
      readBodyFor(this, this.#message, limit, memory);
    } catch (error) {
      this.error(error);
    }
  }

  takeBody(body: Body): void {
    this.#body = body;
    if (this.#coding === 'identity') this.#ask(body);
    else {
      decompress(body.buffer.subarray(0, body.length), this.#coding, this.#context.limits.maxInputBytes).then(
        (plain) => this.#ask({ buffer: plain, length: plain.byteLength, isPooled: false }),
        (error: unknown) => this.error(error),
      );
    }
  }

  refuseBody(error: unknown): void {
    this.error(error);
  }

  #ask(body: Body): void {
    const served = this.#served;
    if (this.#isClosed || served === undefined) return;
    const { limits, isForwarded, heads } = this.#context;
    try {
      const framing = { served, modelVersion: this.#modelVersion, headerLength: this.#headerLength, limits, heads };
      const { request, rendering } = parseRequest(body, framing);
      this.#rendering = rendering;
      const asked = isForwarded === undefined ? request : withHeaders(request, isForwarded, this.#message.rawHeaders);
      this.#subscription = served.infer(asked).subscribe(this);
    } catch (error) {
      this.error(error);
    }
  }

  next(response: InferResponse): void {
    this.#responses++;
    if (this.#responses > 1) return;
    try {
      this.#answer = renderAnswer(response, this.#rendering, this.#context.memory);
    } catch (error) {
      this.#failure = error;
    }
  }

  complete(): void {
    this.#giveBody();
    if (this.#failure !== undefined) this.#fail(this.#failure);
    else if (this.#answer === undefined || this.#responses !== 1) {
      this.#fail(new InferError('INTERNAL', `expected a single response, got ${this.#responses}`));
    } else this.#send(this.#answer);
  }

  error(error: unknown): void {
    this.#forgetBody();
    this.#fail(error);
  }

  #send(answer: RenderedAnswer): void {
    const coding = responseCoding(this.#message.headers['accept-encoding']);
    if (coding === 'identity') sendAnswer(this.#response, answer);
    else sendCompressed(this.#response, answer, coding).catch((error: unknown) => this.#fail(error));
  }

  #fail(error: unknown): void {
    if (this.#isClosed || this.#response.headersSent) return;
    drain(this.#message);
    if (isTooManyChunks(error)) this.#message.once('end', endConnection);
    sendError(this.#response, error);
  }

  readonly #onClose = (): void => {
    this.#isClosed = true;
    this.#subscription?.unsubscribe();
    this.#forgetBody();
    if (this.#answer?.isPooled !== true) return;
    const { memory } = this.#context;
    // What the socket did not finish writing it may still be reading.
    if (this.#response.writableFinished) memory.give(this.#answer.buffer);
    else memory.forget(this.#answer.buffer);
  };

  #giveBody(): void {
    if (this.#body?.isPooled === true) this.#context.memory.give(this.#body.buffer);
    this.#body = undefined;
  }

  /** After a cancellation or an error the model may still read the request. */
  #forgetBody(): void {
    if (this.#body?.isPooled === true) this.#context.memory.forget(this.#body.buffer);
    this.#body = undefined;
  }
}

const plainLimit = (headerLength: number | undefined, limits: BodyLimits): BodyLimit => {
  if (headerLength === undefined) return limits.json;
  return headerLength === 0 ? limits.raw : limits.binary;
};

const withHeaders = (request: InferRequest, isForwarded: HeaderPattern, rawHeaders: readonly string[]): InferRequest => ({
  ...request,
  parameters: forwardHeaders(isForwarded, headerPairs(rawHeaders), request.parameters),
});

/** Node has names and values in turn. */
function* headerPairs(rawHeaders: readonly string[]): Iterable<readonly [string, string]> {
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) yield [rawHeaders[index] ?? '', rawHeaders[index + 1] ?? ''];
}

function endConnection(this: IncomingMessage): void {
  this.socket.end();
}
