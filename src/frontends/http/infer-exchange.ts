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
import { decompress, requestCoding, responseCoding } from './content-coding.ts';
import { drain } from './drain.ts';
import { headerLengthHeader, parseHeaderLength } from './header-length.ts';
import type { BodyLimits } from './parse-request.ts';
import { parseRequest } from './parse-request.ts';
import type { Body, BodyLimit } from './read-body.ts';
import { isTooManyChunks, readBody } from './read-body.ts';
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
export class InferExchange implements Observer<InferResponse> {
  readonly #context: InferContext;
  readonly #message: IncomingMessage;
  readonly #response: ServerResponse;
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

  async run(modelName: string, modelVersion: string): Promise<void> {
    this.#response.once('close', this.#onClose);
    try {
      const served = this.#context.dataPlane.model(modelName, modelVersion);
      if (served.spec.decoupled) {
        throw new InferError('UNIMPLEMENTED', "HTTP end point doesn't support models with decoupled transaction policy");
      }
      const request = await this.#read(served, modelVersion);
      if (this.#isClosed) return;
      this.#subscription = served.infer(request).subscribe(this);
    } catch (error) {
      this.error(error);
    }
  }

  async #read(served: ServedModel, modelVersion: string): Promise<InferRequest> {
    const { limits, memory, isForwarded, heads } = this.#context;
    const { headers, rawHeaders } = this.#message;
    const coding = requestCoding(headers['content-encoding']);
    const headerLength = parseHeaderLength(headers[headerLengthHeader]);
    this.#body = await readBody(this.#message, coding === 'identity' ? plainLimit(headerLength, limits) : limits.compressed, memory);
    let body = this.#body;
    if (coding !== 'identity') {
      const plain = await decompress(body.buffer.subarray(0, body.length), coding, limits.maxInputBytes);
      body = { buffer: plain, length: plain.byteLength, isPooled: false };
    }
    const { request, rendering } = parseRequest(body, { served, modelVersion, headerLength, limits, heads });
    this.#rendering = rendering;
    if (isForwarded === undefined) return request;
    return { ...request, parameters: forwardHeaders(isForwarded, headerPairs(rawHeaders), request.parameters) };
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

/** Node has names and values in turn. */
function* headerPairs(rawHeaders: readonly string[]): Iterable<readonly [string, string]> {
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) yield [rawHeaders[index] ?? '', rawHeaders[index + 1] ?? ''];
}

function endConnection(this: IncomingMessage): void {
  this.socket.end();
}
