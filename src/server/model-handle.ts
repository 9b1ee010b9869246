import { defer, firstValueFrom, map, Observable, takeUntil, tap } from 'rxjs';
import type { DataPlane, ModelMetadata } from '../streams/inference/data-plane.ts';
import type { ModelConfigDocument } from '../streams/inference/model-spec.ts';
import type { ModelStatistics } from '../streams/inference/statistics.ts';
import { Answer } from './answer.ts';
import { onlyAnswer } from './only-answer.ts';
import { type Question, requestOf } from './question.ts';

/** Errors with the signal's reason once it aborts. */
const abortOf = (signal: AbortSignal): Observable<never> =>
  new Observable((subscriber) => {
    const fail = (): void => subscriber.error(signal.reason);
    if (signal.aborted) return fail();
    signal.addEventListener('abort', fail, { once: true });
    return () => signal.removeEventListener('abort', fail);
  });

const refuseFailed = ({ error }: Answer): void => {
  if (error !== undefined) throw error;
};

/**
 * A model of a running server. It is looked up anew for each call, so a handle outlives a reload; where there is no such model, or none that is
 * ready, calls fail with an InferError of code NOT_FOUND or UNAVAILABLE.
 */
export class ModelHandle {
  readonly name: string;
  /** `''` for the newest version that is ready. */
  readonly version: string;
  readonly #dataPlane: DataPlane;

  constructor(dataPlane: DataPlane, name: string, version: string) {
    this.#dataPlane = dataPlane;
    this.name = name;
    this.version = version;
  }

  /**
   * Every answer of the model, one for most models. Cold: each subscription is a request of its own, and unsubscribing cancels it. Errors are
   * InferErrors.
   */
  infer(question: Question): Observable<Answer> {
    return defer(() => {
      const { spec } = this.#dataPlane.model(this.name, this.version);
      return this.#dataPlane.infer(requestOf(spec, question));
    }).pipe(map((response) => new Answer(response)));
  }

  /**
   * The answer of a model that gives one. Rejects with the request's InferError, with UNIMPLEMENTED when the model gives another number of
   * answers, and with the signal's reason once that aborts, which cancels the request.
   */
  inferOnce(question: Question, { signal }: { readonly signal?: AbortSignal } = {}): Promise<Answer> {
    const answer = this.infer(question).pipe(onlyAnswer(this.name), tap(refuseFailed));
    return firstValueFrom(signal === undefined ? answer : answer.pipe(takeUntil(abortOf(signal))));
  }

  isReady(): boolean {
    return this.#dataPlane.isModelReady(this.name, this.version);
  }

  /** @throws InferError */
  metadata(): ModelMetadata {
    return this.#dataPlane.modelMetadata(this.name, this.version);
  }

  /** The complete configuration, as `/v2/models/{model}/config` answers it. @throws InferError */
  config(): ModelConfigDocument {
    return this.#dataPlane.model(this.name, this.version).spec.config;
  }

  /** Rejects with an InferError. */
  statistics(): Promise<readonly ModelStatistics[]> {
    return this.#dataPlane.statistics(this.name, this.version);
  }
}
