import { InferError } from '../../streams/inference/error.ts';
import type { Decision } from '../../streams/inference/infer.ts';
import type { ModelSpec } from '../../streams/inference/model-spec.ts';
import type { InferRequest } from '../../streams/inference/request.ts';
import { serverStopping } from '../stopping-error.ts';
import { isNoId, type SequenceId } from './sequence.ts';

/** A request of a sequence model as it comes in. */
export interface ArrivedRequest {
  readonly request: InferRequest;
  readonly rows: number;
  /** A sequence of its id takes requests. */
  readonly isKnown: boolean;
  readonly isStopping: boolean;
  /** Why the last sequence of its id has ended, where it was not the client who ended it. */
  readonly endedBecause: string | undefined;
}

/**
 * What is wrong with a request of a sequence model, in Triton's order: more than one row, no id, a START while the server stops, no START
 * where no sequence is. Undefined for one that may come in. Without the prefix that other messages on queueing have,
 * and not counted as a failure.
 */
export const sequenceFault = (spec: Pick<ModelSpec, 'name' | 'sequenceBatching'>): Decision<ArrivedRequest, InferError | undefined> => {
  const { name } = spec;
  const isIterative = spec.sequenceBatching?.isIterative ?? false;

  return ({ request, rows, isKnown, isStopping, endedBecause }) => {
    if (rows > 1) {
      return invalid(`inference request to model '${name}' must specify batch-size 1 due to requirements of sequence batcher`);
    }
    const hasNoId = isNoId(request.sequenceId);
    if (hasNoId && !isIterative) return invalid(`inference request to model '${name}' must specify a non-zero or non-empty correlation ID`);
    // A request without id begins a sequence of its own.
    const starts = request.sequenceStart || hasNoId;
    if (starts) return isStopping ? new InferError('UNAVAILABLE', serverStopping, { reason: 'REFUSED' }) : undefined;
    return isKnown ? undefined : invalid(startMissing(name, request.sequenceId, endedBecause));
  };
};

const startMissing = (model: string, id: SequenceId, endedBecause: string | undefined): string =>
  `inference request for sequence ${id} to model '${model}' must specify the START flag on the first request of the sequence` +
  (endedBecause === undefined ? '' : `: ${endedBecause}`);

const invalid = (message: string): InferError => new InferError('INVALID_ARGUMENT', message, { reason: 'REFUSED' });
