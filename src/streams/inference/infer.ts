import type { Observable } from 'rxjs';
import type { InferRequest } from './request.ts';
import type { InferResponse } from './response.ts';

/**
 * A model, an ensemble or a remote server: all the same from outside. `next* (error | complete)`; unsubscribing cancels. Cold: the work
 * begins with the subscription. Errors are InferErrors.
 */
export type Infer = (request: InferRequest) => Observable<InferResponse>;

/** Something around an `Infer`: validation, a cache, counting. */
export type Layer = (next: Infer) => Infer;

/** A pure answer from a state and a time: no streams, no clock, no I/O. */
export type Decision<State, Answer> = (state: State, nowMs: number) => Answer;

/** `layers([a, b])(infer)` is `a(b(infer))`: the first is the outermost. */
export const layers =
  (all: readonly Layer[]): Layer =>
  (next) =>
    all.reduceRight((inner, layer) => layer(inner), next);
