import type { Plan } from '../../streams/flow/buffer-when-free.ts';
import type { Decision } from '../../streams/inference/infer.ts';
import type { Log } from '../../streams/inference/log.ts';
import type { InferRequest } from '../../streams/inference/request.ts';
import type { BatchStrategy } from './batch-strategy.ts';
import type { BatchLimits, WaitingRequest } from './plan-batch.ts';
import { planBatch } from './plan-batch.ts';

export interface StrategyPlanConfig {
  readonly limits: BatchLimits;
  readonly strategy: BatchStrategy;
  readonly log: Log;
  /** As the log is to call the model. */
  readonly model: string;
}

/** A request with its tensors and parameters, which only a strategy looks at. */
export type WaitingForStrategy = WaitingRequest & { readonly request: InferRequest };

/** A promise whose failure nobody waits for would end the process. */
const refusePromise = (name: string, value: unknown): void => {
  if (!(value instanceof Promise)) return;
  value.catch(() => {});
  throw new TypeError(`${name}() returned a promise`);
};

/**
 * `planBatch` with a user's strategy beside its own rules. A batch for which the strategy throws, or answers with anything but true or false, is
 * planned without it; the first time the log says so.
 */
export const planByStrategy = ({ limits, strategy, log, model }: StrategyPlanConfig): Decision<Iterable<WaitingForStrategy>, Plan> => {
  const usual = planBatch(limits);
  const own = planBatch<WaitingForStrategy>(limits, () => {
    const state: unknown = strategy.begin();
    refusePromise('begin', state);
    return ({ request }) => {
      const answer: unknown = strategy.includes(request, state);
      refusePromise('includes', answer);
      if (typeof answer !== 'boolean') throw new TypeError(`includes() returned ${String(answer)}, neither true nor false`);
      return answer;
    };
  });
  let isLogged = false;

  return (waiting, nowMs) => {
    try {
      return own(waiting, nowMs);
    } catch (error) {
      if (!isLogged) log.error(`the batch strategy of ${model} failed, and its batches are planned without it: ${String(error)}`);
      isLogged = true;
      return usual(waiting, nowMs);
    }
  };
};
