import { InferError } from '../streams/inference/error.ts';

/** Of a load that was under way when the server ended. */
export const cancelledError = (): InferError => new InferError('UNAVAILABLE', 'the load was cancelled: the server is exiting');
