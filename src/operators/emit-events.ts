import { Observable, type Observer } from 'rxjs';
import type { FailureReason } from '../streams/inference/error.ts';
import { InferError } from '../streams/inference/error.ts';
import type { EventSink } from '../streams/inference/events.ts';
import type { Layer } from '../streams/inference/infer.ts';
import type { ModelSpec } from '../streams/inference/model-spec.ts';
import type { InferResponse } from '../streams/inference/response.ts';

export interface EmitEventsConfig {
  readonly spec: ModelSpec;
  readonly sink: EventSink;
  /** Milliseconds from any origin. */
  readonly scheduler: { now(): number };
}

/**
 * Tells `sink` how each request ended, once, before its caller learns of it: success with the last answer or completion, failure with the
 * reason of the error, CANCELED when it is unsubscribed first. A request that nobody subscribes to is not counted.
 */
export const emitEvents =
  (config: EmitEventsConfig): Layer =>
  (next) =>
  (request) =>
    new Observable((caller) => {
      const watch = new RequestWatch(config, caller);
      // Runs after an end too, and finds the watch closed; added first, so that it counts before whatever unsubscribing sets off.
      caller.add(watch);
      return next(request).subscribe(watch);
    });

/** One object instead of five closures for each request. */
class RequestWatch implements Observer<InferResponse> {
  readonly #config: EmitEventsConfig;
  readonly #caller: Observer<InferResponse>;
  readonly #startMs: number;
  #isOpen = true;

  constructor(config: EmitEventsConfig, caller: Observer<InferResponse>) {
    this.#config = config;
    this.#caller = caller;
    this.#startMs = config.scheduler.now();
  }

  next(response: InferResponse): void {
    // A caller may hang up on seeing the last answer: that is no cancellation.
    if (response.isLast) this.#end(undefined);
    this.#caller.next(response);
  }

  error(error: unknown): void {
    this.#end(error instanceof InferError ? error.reason : 'OTHER');
    this.#caller.error(error);
  }

  complete(): void {
    this.#end(undefined);
    this.#caller.complete();
  }

  unsubscribe(): void {
    this.#end('CANCELED');
  }

  #end(failure: FailureReason | undefined): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    const { spec, sink, scheduler } = this.#config;
    sink({
      kind: 'request-ended',
      model: spec.name,
      version: spec.version,
      failure,
      durationMs: scheduler.now() - this.#startMs,
    });
  }
}
