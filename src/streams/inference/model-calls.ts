import { defer, throwError } from 'rxjs';
import { InferError } from './error.ts';
import type { Infer } from './infer.ts';
import type { Caller } from './request.ts';

/** What models may ask of the server that they run in. */
export interface ModelCalls {
  /** A request with its `caller`. One to a model that already waits for the answer fails at once, and names the cycle. */
  readonly infer: Infer;
  /** Never throws: an unknown model is not ready. `''` for the newest version. */
  isReady(name: string, version: string): boolean;
  /**
   * Whether it may answer many times.
   *
   * @throws InferError for a model that is not ready
   */
  isDecoupled(name: string, version: string): boolean;
}

/** From the outermost model to the one that calls. */
const chainOf = (caller: Caller | undefined): readonly string[] =>
  caller === undefined ? [] : [...chainOf(caller.caller), caller.modelName];

const isWaiting = (model: string, caller: Caller | undefined): boolean =>
  caller !== undefined && (caller.modelName === model || isWaiting(model, caller.caller));

/**
 * Refuses with INVALID_ARGUMENT a request to a model that waits, by way of whatever calls, for the answer to it: with few instances it would wait for
 * itself for ever, and with many it would never end.
 */
export const refuseCycles =
  (next: Infer): Infer =>
  (request) => {
    const { modelName, caller } = request;
    if (!isWaiting(modelName, caller)) return next(request);
    const chain = [...chainOf(caller), modelName].join(' -> ');
    return defer(() => throwError(() => new InferError('INVALID_ARGUMENT', `models call each other in a cycle: ${chain}`)));
  };
