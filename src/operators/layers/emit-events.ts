import { Observable, Subscriber, Subscription, type TeardownLogic, type Unsubscribable } from 'rxjs';
import type { FailureReason } from '../../streams/inference/error.ts';
import { InferError } from '../../streams/inference/error.ts';
import type { EventSink } from '../../streams/inference/events.ts';
import type { Layer } from '../../streams/inference/infer.ts';
import type { ModelSpec } from '../../streams/inference/model-spec.ts';
import type { InferResponse } from '../../streams/inference/response.ts';

export interface EmitEventsConfig {
  readonly spec: ModelSpec;
  readonly sink: EventSink;
  /** Milliseconds from any origin. */
  readonly scheduler: { now(): number };
}

/**
 * Tells `sink` how each request ended, once, before its caller learns of it: success with the last answer or completion, failure with the
 * reason of the error, CANCELED when it is unsubscribed first. A request that nobody subscribes to is not counted, nor one that is refused.
 */
export const emitEvents =
  (config: EmitEventsConfig): Layer =>
  (next) =>
  (request) =>
    new Observable((caller) => next(request).subscribe(new RequestWatch(config, caller)));

/** A Subscription may end before, and then takes itself out of the list that it is in. */
const isAlone = (teardown: TeardownLogic): teardown is Unsubscribable =>
  typeof teardown === 'object' && !(teardown instanceof Subscription);

/**
 * One object for each request, and no other subscriber. It is added to its caller before anything is subscribed to, so that a cancellation counts before whatever
 * it sets off.
 */
class RequestWatch extends Subscriber<InferResponse> {
  readonly #config: EmitEventsConfig;
  readonly #startMs: number;
  #asked: Unsubscribable | undefined;
  #isOpen = true;

  constructor(config: EmitEventsConfig, caller: Subscriber<InferResponse>) {
    super(caller);
    this.#config = config;
    this.#startMs = config.scheduler.now();
  }

  protected override _next(response: InferResponse): void {
    // A caller may hang up on seeing the last answer: that is no cancellation.
    if (response.isLast) this.#end(undefined);
    super._next(response);
  }

  protected override _error(error: unknown): void {
    const reason = error instanceof InferError ? error.reason : 'OTHER';
    if (reason === 'REFUSED') this.#isOpen = false;
    else this.#end(reason);
    super._error(error);
  }

  protected override _complete(): void {
    this.#end(undefined);
    super._complete();
  }

  /** The call that it has asked, which is one object, stays here: the list that rxjs makes for the first teardown has room for seventeen. */
  override add(teardown: TeardownLogic): void {
    if (this.closed || this.#asked !== undefined || !isAlone(teardown)) super.add(teardown);
    else this.#asked = teardown;
  }

  /** After an end, too. */
  override unsubscribe(): void {
    this.#end('CANCELED');
    super.unsubscribe();
    const asked = this.#asked;
    this.#asked = undefined;
    asked?.unsubscribe();
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
