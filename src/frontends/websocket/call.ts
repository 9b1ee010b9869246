import type { Observer, Subscription } from 'rxjs';
import type { Demand } from '../../streams/flow/demand.ts';
import type { Place } from '../../streams/flow/waiting-list.ts';
import { InferError, toInferError } from '../../streams/inference/error.ts';
import type { Infer } from '../../streams/inference/infer.ts';
import type { Rendering } from '../../streams/inference/json/rendering.ts';
import { noParameters } from '../../streams/inference/parameters.ts';
import type { InferRequest } from '../../streams/inference/request.ts';
import type { InferResponse } from '../../streams/inference/response.ts';
import type { Frames } from './frames.ts';
import { renderError, renderResponse } from './render-message.ts';

/** The connection, as a call sees it. */
export interface CallOwner {
  readonly frames: Frames;
  /** Whether this reader keeps up. */
  readonly takesMore: boolean;
  /** False, and the frame is not taken, when too much waits for this reader. */
  offer(frame: Buffer): boolean;
  /** Takes the one last frame of a call in any case. */
  offerFinal(frame: Buffer): void;
  ended(call: Call): void;
  failed(call: Call, error: InferError): void;
}

interface CallConfig {
  readonly owner: CallOwner;
  readonly request: InferRequest;
  readonly rendering: Rendering;
  /** Names an empty answer when no other came before it. */
  readonly modelVersion: string;
}

/**
 * One request in flight: its observer, and what a decoupled model asks for room. Sends exactly one frame that is final, unless it is cancelled from
 * outside.
 */
export class Call implements Observer<InferResponse>, Demand {
  readonly id: string;
  onOpen: (() => void) | undefined;
  /** Where it stands among its connection's calls. */
  place: Place<Call> | undefined;
  readonly #config: CallConfig;
  #subscription: Subscription | undefined;
  /** The final frame is sent, or nobody waits for it. */
  #isDone = false;
  /** The answer is no longer wanted, though the model may not have ended it. */
  #isUnwanted = false;

  constructor(config: CallConfig) {
    this.#config = config;
    this.id = config.request.id;
  }

  /** One that has ended keeps nobody waiting. */
  get isOpen(): boolean {
    return this.#isDone || this.#config.owner.takesMore;
  }

  /** There may be room again. */
  reopen(): void {
    if (this.onOpen !== undefined && this.isOpen) this.onOpen();
  }

  start(infer: Infer, mode: 'single' | 'decoupled'): void {
    const { request } = this.#config;
    this.#subscription = infer(mode === 'single' ? request : { ...request, demand: this }).subscribe(this);
    if (this.#isUnwanted) this.#subscription.unsubscribe();
  }

  next(response: InferResponse): void {
    if (this.#isDone) return;
    const { owner, rendering } = this.#config;
    let frame: Buffer;
    try {
      frame =
        response.error === undefined
          ? renderResponse(owner.frames, response, rendering)
          : renderError(owner.frames, this.id, response.error, response.isLast ? 'last' : 'more');
    } catch (error) {
      this.fail(toInferError(error));
      return;
    }
    if (!owner.offer(frame)) {
      this.fail(new InferError('RESOURCE_EXHAUSTED', 'too many bytes of answers wait for this connection, its client reads too slowly'));
      return;
    }
    if (response.error !== undefined) owner.failed(this, response.error);
    if (response.isLast) this.#end();
  }

  error(error: unknown): void {
    if (this.#isDone) return;
    this.#sendError(toInferError(error));
  }

  complete(): void {
    if (this.#isDone) return;
    const { owner, request, rendering, modelVersion } = this.#config;
    const empty: InferResponse = {
      modelName: request.modelName,
      modelVersion,
      id: request.id,
      parameters: noParameters,
      outputs: new Map(),
      isLast: true,
    };
    owner.offerFinal(renderResponse(owner.frames, empty, rendering));
    this.#end();
  }

  /** Ends the request with an error that is not the model's: stops the model and tells the client. */
  fail(error: InferError): void {
    if (this.#isDone) return;
    this.#stop();
    this.#sendError(error);
  }

  /** Stops the model and tells nobody: the client is gone. */
  cancel(): void {
    this.#isDone = true;
    this.#stop();
  }

  #sendError(error: InferError): void {
    const { owner } = this.#config;
    owner.failed(this, error);
    owner.offerFinal(renderError(owner.frames, this.id, error, 'last'));
    this.#end();
  }

  #stop(): void {
    this.#isUnwanted = true;
    this.#subscription?.unsubscribe();
  }

  #end(): void {
    this.#isDone = true;
    this.#config.owner.ended(this);
  }
}
