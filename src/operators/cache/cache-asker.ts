import type { Subscriber, Unsubscribable } from 'rxjs';
import type { Place } from '../../streams/flow/waiting-list.ts';
import type { InferError } from '../../streams/inference/error.ts';
import type { InferRequest } from '../../streams/inference/request.ts';
import type { InferResponse } from '../../streams/inference/response.ts';
import type { CachedAnswers } from '../../streams/inference/response-cache.ts';
import type { RequestKey } from './request-key.ts';

/** What answers an asker: a whole entry of the cache, or a run that goes on. */
export interface AnswerSource {
  /** So far. */
  readonly answers: CachedAnswers;
  /** Undefined while more may come. */
  readonly end: 'complete' | InferError | undefined;
}

/** How an asker came to its answers. */
export type AskerRole = 'hit' | 'leads' | 'joined';

/** Who hears of the life of an asker. */
export interface AskerWatch {
  /** Just before its last answer, or its end without one. */
  onAnswered(asker: CacheAsker): void;
  onFailed(asker: CacheAsker): void;
  onCancelled(asker: CacheAsker): void;
}

export interface CacheAskerConfig {
  readonly request: InferRequest;
  readonly caller: Subscriber<InferResponse>;
  readonly key: RequestKey;
  readonly arrivedMs: number;
  readonly model: { readonly name: string; readonly version: string };
  readonly watch: AskerWatch;
}

/** One request to a model with a cache, and the caller that waits for its answers. Ends once. */
export class CacheAsker implements Unsubscribable {
  readonly request: InferRequest;
  readonly key: RequestKey;
  readonly arrivedMs: number;
  role: AskerRole = 'leads';
  /** What looking into the cache took, for one that was answered by it. */
  lookupMs = 0;
  /** Among those that wait for the same run. */
  place: Place<CacheAsker> | undefined;
  source: AnswerSource | undefined;
  readonly #config: CacheAskerConfig;
  #sent = 0;
  #isOpen = true;

  constructor(config: CacheAskerConfig) {
    this.request = config.request;
    this.key = config.key;
    this.arrivedMs = config.arrivedMs;
    this.#config = config;
  }

  /** Emits what its source has that it has not had yet. An emission may bring more, or end it. */
  pump(): void {
    const { source } = this;
    while (this.#isOpen && source !== undefined) {
      const answer = source.answers[this.#sent];
      if (answer === undefined) {
        if (source.end !== undefined) this.finish(source.end);
        return;
      }
      this.#sent++;
      const isLast = source.end === 'complete' && this.#sent === source.answers.length;
      const { model, request } = this.#config;
      this.#emit({
        modelName: model.name,
        modelVersion: model.version,
        id: request.id,
        parameters: answer.parameters,
        outputs: answer.outputs,
        isLast,
      });
    }
  }

  /** An answer that is kept nowhere. */
  pass(response: InferResponse): void {
    if (this.#isOpen) this.#emit({ ...response, id: this.request.id });
  }

  /** Ends it, in whatever way the run has. */
  finish(end: 'complete' | InferError): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    const { caller, watch } = this.#config;
    if (end === 'complete') {
      watch.onAnswered(this);
      caller.complete();
    } else {
      watch.onFailed(this);
      caller.error(end);
    }
  }

  /** Its caller has gone; after an end of any kind it means nothing. */
  unsubscribe(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#config.watch.onCancelled(this);
  }

  #emit(response: InferResponse): void {
    const { caller, watch } = this.#config;
    if (!response.isLast) {
      caller.next(response);
      return;
    }
    // A caller may go away at its last answer: that is no cancellation.
    this.#isOpen = false;
    watch.onAnswered(this);
    caller.next(response);
    caller.complete();
  }
}
