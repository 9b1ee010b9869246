import { Observable, type Subscriber } from 'rxjs';
import type { ServedModel } from '../../src/streams/inference/data-plane.ts';
import type { InferError } from '../../src/streams/inference/error.ts';
import type { Infer } from '../../src/streams/inference/infer.ts';
import type { InferRequest } from '../../src/streams/inference/request.ts';
import type { InferResponse } from '../../src/streams/inference/response.ts';
import { makeSpec } from './model.ts';
import { inferResponse } from './request-fixtures.ts';
import { until } from './until.ts';

interface Held {
  readonly request: InferRequest;
  readonly subscriber: Subscriber<InferResponse>;
}

/** A model, by name `held`, whose requests wait until the test answers them or their clients go away. */
export class HeldModel {
  readonly #held: Held[] = [];
  /** Requests that were unsubscribed before they were answered. */
  cancelled = 0;

  readonly infer: Infer = (request) =>
    new Observable((subscriber) => {
      const held = { request, subscriber };
      this.#held.push(held);
      return () => {
        const index = this.#held.indexOf(held);
        if (index === -1) return;
        this.#held.splice(index, 1);
        this.cancelled++;
      };
    });

  get served(): ServedModel {
    return { spec: makeSpec({ name: 'held', maxBatchSize: 0, inputs: [], outputs: [] }), infer: this.infer };
  }

  get waiting(): number {
    return this.#held.length;
  }

  /** Resolves when exactly so many requests wait. */
  holds(count: number): Promise<void> {
    return until(() => this.#held.length === count);
  }

  /** Answers the one that has waited longest. */
  answer(fields: Partial<InferResponse> = {}): void {
    const { request, subscriber } = this.#take();
    subscriber.next(inferResponse({}, { modelName: request.modelName, id: request.id, ...fields }));
    subscriber.complete();
  }

  fail(error: InferError): void {
    this.#take().subscriber.error(error);
  }

  #take(): Held {
    const held = this.#held.shift();
    if (held === undefined) throw new Error('no request waits');
    return held;
  }
}
