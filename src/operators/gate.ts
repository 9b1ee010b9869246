import type { Subscriber, TeardownLogic } from 'rxjs';
import { Observable, Subject } from 'rxjs';
import type { Scheduler } from '../streams/flow/clock.ts';
import type { Place } from '../streams/flow/waiting-list.ts';
import type { Infer, Layer } from '../streams/inference/infer.ts';
import type { ModelSpec } from '../streams/inference/model-spec.ts';
import type { InferRequest } from '../streams/inference/request.ts';
import type { InferResponse } from '../streams/inference/response.ts';
import { batchKey } from './batching/batch-key.ts';
import type { Cancellable } from './call.ts';
import { Call } from './call.ts';
import { Door } from './door.ts';
import { stoppingError } from './stopping-error.ts';

export interface GateConfig {
  readonly spec: Pick<ModelSpec, 'inputs' | 'maxBatchSize' | 'batchOptions'>;
  readonly scheduler: Scheduler;
}

/** Where requests enter a model's graph: each subscription of an answer becomes one call in `calls$`, and its cancellation one in `withdrawn$`. */
export class Gate implements Cancellable {
  readonly door = new Door();
  readonly #calls = new Subject<Call>();
  readonly #withdrawn = new Subject<Place<Call>>();
  readonly #config: GateConfig;
  readonly #shapeKey: (request: InferRequest) => string;

  constructor(config: GateConfig) {
    this.#config = config;
    this.#shapeKey = batchKey(config.spec);
  }

  get calls$(): Observable<Call> {
    return this.#calls;
  }

  /** Places of calls whose callers have gone while they were in nobody else's hands. */
  get withdrawn$(): Observable<Place<Call>> {
    return this.#withdrawn;
  }

  readonly infer: Infer = (request) =>
    new Observable<InferResponse>((caller) => {
      // Who holds the model may ask it to the end, but no longer.
      if (!this.door.isOpenTo(request) || !this.#calls.observed) {
        caller.error(stoppingError(request));
        return undefined;
      }
      this.door.enter();
      return this.#begin(request, caller, this.door);
    });

  /** The same with a layer between the door and the queue, such as a cache: from the door on a request counts as inside. */
  behind(layer: Layer): Infer {
    return this.door.around(layer((request) => new Observable((caller) => this.#enter(request, caller))));
  }

  cancel(call: Call): void {
    if (call.place !== undefined) this.#withdrawn.next(call.place);
  }

  /** Of a request that the door has let in; the graph may have ended meanwhile. */
  #enter(request: InferRequest, caller: Subscriber<InferResponse>): TeardownLogic {
    if (!this.#calls.observed) {
      caller.error(stoppingError(request));
      return undefined;
    }
    return this.#begin(request, caller, undefined);
  }

  #begin(request: InferRequest, caller: Subscriber<InferResponse>, door: Door | undefined): Call {
    const call = new Call({
      request,
      rows: this.#rows(request),
      shapeKey: this.#shapeKey(request),
      arrivedMs: this.#config.scheduler.now(),
      caller,
      holder: this,
      door,
    });
    this.#calls.next(call);
    return call;
  }

  /** Requests are checked: their inputs agree on the batch dimension. A request for no rows still takes the place of one. */
  #rows({ inputs }: InferRequest): number {
    if (this.#config.spec.maxBatchSize === 0) return 1;
    for (const tensor of inputs.values()) return Math.max(1, tensor.shape[0] ?? 1);
    return 1;
  }
}
