import { concat, from, map, Observable, of, Subject, throwError } from 'rxjs';
import { InferError } from '../../../../src/streams/inference/error.ts';
import type { Infer } from '../../../../src/streams/inference/infer.ts';
import { noParameters } from '../../../../src/streams/inference/parameters.ts';
import type { InferRequest } from '../../../../src/streams/inference/request.ts';
import type { InferResponse } from '../../../../src/streams/inference/response.ts';
import { Tensor } from '../../../../src/streams/tensors/tensor.ts';

export const answer = (request: InferRequest, changes: Partial<InferResponse> = {}): InferResponse => ({
  modelName: request.modelName,
  modelVersion: '1',
  id: request.id,
  parameters: noParameters,
  outputs: request.inputs,
  isLast: true,
  ...changes,
});

export const int32 = (...values: number[]): Tensor => new Tensor('INT32', [values.length], new Uint8Array(Int32Array.from(values).buffer));

export const identity: Infer = (request) => of(answer(request));

/** Answers 0, 1, … up to what its parameter `count` says; it knows its last answer when `knows_last` is true. */
export const counting: Infer = (request) => {
  const count = Number(request.parameters.get('count') ?? 0);
  const knowsLast = request.parameters.get('knows_last') === true;
  return from(Array(count).keys()).pipe(
    map((index) => answer(request, { outputs: new Map([['N', int32(index)]]), isLast: knowsLast && index === count - 1 })),
  );
};

export const failing: Infer = () => throwError(() => new InferError('INVALID_ARGUMENT', 'no good', { reason: 'BACKEND' }));

export const failingHalfway: Infer = (request) => concat(of(answer(request, { isLast: false })), failing(request));

export interface ManualRun {
  readonly request: InferRequest;
  readonly responses: Subject<InferResponse>;
}

/** Answers when the test says so. */
export class ManualModel {
  readonly runs: ManualRun[] = [];
  /** Begun and neither finished nor cancelled. */
  running = 0;
  mostRunning = 0;
  cancelled = 0;
  readonly #waiting: { readonly count: number; readonly resolve: () => void }[] = [];
  readonly #onIdle: (() => void)[] = [];
  readonly #ended = new Set<Subject<InferResponse>>();

  readonly infer: Infer = (request) =>
    new Observable((subscriber) => {
      const responses = new Subject<InferResponse>();
      const inner = responses.subscribe(subscriber);
      this.running++;
      this.mostRunning = Math.max(this.mostRunning, this.running);
      this.runs.push({ request, responses });
      for (const { count, resolve } of this.#waiting) if (this.runs.length >= count) resolve();
      return () => {
        inner.unsubscribe();
        if (!this.#ended.has(responses)) {
          this.running--;
          this.cancelled++;
        }
        if (this.running === 0) for (const resolve of this.#onIdle.splice(0)) resolve();
      };
    });

  /** Resolves once that many requests have reached the model. */
  started(count: number): Promise<void> {
    if (this.runs.length >= count) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push({ count, resolve }));
  }

  idle(): Promise<void> {
    return this.running === 0 ? Promise.resolve() : new Promise((resolve) => this.#onIdle.push(resolve));
  }

  finish(index: number): void {
    const run = this.runs[index];
    if (run === undefined) throw new Error(`no run ${index}`);
    this.#ended.add(run.responses);
    this.running--;
    run.responses.next(answer(run.request));
    run.responses.complete();
  }
}
