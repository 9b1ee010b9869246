import { InferError, requestPrefix } from '../streams/inference/error.ts';
import type { InferRequest } from '../streams/inference/request.ts';

export const serverStopping = 'Server is stopping, scheduler for model has stopped accepting new inference requests';

/** For a request that comes, or still waits, when its model ends. */
export const stoppingError = ({ id }: InferRequest): InferError => new InferError('UNAVAILABLE', requestPrefix(id) + serverStopping);
