import { Observable } from 'rxjs';
import type { Granted } from '../../streams/flow/buffer-when-free.ts';
import type { OrderCounters } from '../../streams/flow/in-order.ts';
import { InOrder } from '../../streams/flow/in-order.ts';
import type { Instance } from '../../streams/inference/backend.ts';
import { InferError } from '../../streams/inference/error.ts';
import type { Layer } from '../../streams/inference/infer.ts';
import type { ModelSpec } from '../../streams/inference/model-spec.ts';
import type { InferResponse } from '../../streams/inference/response.ts';
import { copyTensor } from '../../streams/tensors/copy-tensor.ts';
import type { Tensor } from '../../streams/tensors/tensor.ts';
import type { Call } from '../call.ts';

export interface PreserveOrderingConfig {
  readonly spec: Pick<ModelSpec, 'name'>;
  readonly counters: OrderCounters;
  /** Answers that may be held back at once. */
  readonly limit?: number;
  /** Bytes of them. */
  readonly maxBytes?: number;
}

export const heldAnswersLimit = 16_384;
export const heldBytesLimit = 64 * 2 ** 20;

const sizeOf = ({ outputs }: InferResponse): number => {
  let size = 0;
  for (const tensor of outputs.values()) size += tensor.byteLength;
  return size;
};

const keep = (response: InferResponse): InferResponse => {
  const outputs = new Map<string, Tensor>();
  for (const [name, tensor] of response.outputs) outputs.set(name, copyTensor(tensor));
  return { ...response, outputs };
};

/** The request was never answered by its model, or nobody is there to be answered. */
const isUrgent = (error: unknown): boolean => error instanceof InferError && (error.reason === 'REJECTED' || error.reason === 'CANCELED');

export const preservesOrdering = ({
  dynamicBatching,
  sequenceBatching,
}: Pick<ModelSpec, 'dynamicBatching' | 'sequenceBatching'>): boolean => {
  if (sequenceBatching === undefined) return dynamicBatching?.preserveOrdering ?? false;
  return sequenceBatching.strategy.kind === 'oldest' && sequenceBatching.strategy.preserveOrdering;
};

/** The line in which a model's answers leave. */
export const orderOf = ({
  spec,
  counters,
  limit = heldAnswersLimit,
  maxBytes = heldBytesLimit,
}: PreserveOrderingConfig): InOrder<InferResponse> => {
  const text = `answers of model '${spec.name}' that wait for earlier ones exceed the limit of ${limit} answers or ${maxBytes} bytes`;
  return new InOrder({
    limit,
    maxSize: maxBytes,
    sizeOf,
    keep,
    isUrgent,
    overflow: () => new InferError('UNAVAILABLE', text, { reason: 'REJECTED' }),
    counters,
  });
};

/**
 * Answers leave in the order in which their requests came here, whichever instance or cache they are from: those of a request go on once every
 * earlier request has ended, and are copied and held until then. Errors take their turn as answers do; but a request that was rejected or
 * cancelled is answered at once and keeps nobody waiting. Past the limits of what is held a request fails with UNAVAILABLE.
 */
export const preserveOrdering = (config: PreserveOrderingConfig): Layer => {
  const order = orderOf(config);
  return (next) => (request) =>
    new Observable((caller) => {
      const turn = order.open(caller);
      caller.add(turn);
      return next(request).subscribe(turn);
    });
};

/**
 * The same for sequences, which wait for slots that others free: a request has its turn from the batch on that it runs in, so that none waits
 * for one that cannot run yet. Changes the calls of a batch on its way to its run.
 */
export const orderBatches = (config: PreserveOrderingConfig): ((granted: Granted<Call, Instance>) => void) => {
  const order = orderOf(config);
  return ({ items }) => {
    for (const call of items) call.answerIn(order);
  };
};
