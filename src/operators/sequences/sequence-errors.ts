import { InferError, requestPrefix } from '../../streams/inference/error.ts';
import type { Call } from '../call.ts';
import type { SequenceId } from './sequence.ts';

/** For the log: a START that comes before the END of the sequence that has its id. */
export const conflictText = (id: SequenceId, model: string): string =>
  `sequence ${id} for model '${model}' has a conflict. The previous sequence did not end before this sequence start. ` +
  'Previous sequence will be terminated early.';

/** What a client is told that goes on with a sequence that was idle, or lost. */
export const idleText = (maxIdleMs: number): string =>
  `the sequence was idle for longer than ${Math.round(maxIdleMs * 1000)} microseconds and has ended`;
export const lostText = 'the instance that ran the sequence has ended, and the sequence with it';

export const lostError = (id: SequenceId, model: string, cause: unknown): InferError =>
  new InferError('UNAVAILABLE', `sequence ${id} of model '${model}' has ended: the instance that ran it has ended`, {
    cause,
    reason: 'BACKEND',
  });

export const expiredError = (): InferError =>
  new InferError('UNAVAILABLE', 'timeout of the corresponding sequence has been expired', { reason: 'REJECTED' });

export const fullError = ({ request }: Call): InferError =>
  new InferError('UNAVAILABLE', `${requestPrefix(request.id)}Exceeds maximum queue size`, { reason: 'REJECTED' });

export const cancelledError = (): InferError => new InferError('CANCELLED', '', { reason: 'CANCELED' });
