import type { ModelSpec } from '../../streams/inference/model-spec.ts';
import type { InferRequest } from '../../streams/inference/request.ts';

/** What a strategy may know of the model that it is for. */
export type StrategyModel = Pick<ModelSpec, 'name' | 'version' | 'maxBatchSize' | 'parameters'>;

/**
 * A user's own rule for which requests make a batch, besides preferred sizes, delay, shapes and the maximum, which count as ever.
 *
 * Whenever the queue is looked at, a batch begins anew: `begin`, then `includes` for each request in the order of the queue, as far as the other
 * rules let the batch grow. So an answer may depend on the state and the request alone. Neither may return a promise.
 */
export interface BatchStrategy<State = unknown> {
  /** What `includes` is to know of the batch so far. */
  begin(): State;
  /**
   * Whether the request joins the batch. False cuts the batch before it and sends it without waiting for more; false for the first of a batch sends
   * that one alone. A request that joins is in the state from then on.
   */
  includes(request: InferRequest, state: State): boolean;
}

/** What a module with a strategy exports as `batchStrategy`: called once for each version of a model that is loaded. */
export type BatchStrategyFactory = (model: StrategyModel) => BatchStrategy;
