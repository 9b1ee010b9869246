import type { InferError } from '../../../src/streams/inference/error.ts';

/** The error that a preparation rejects with. */
export const failureOf = (promise: Promise<unknown>): Promise<InferError> =>
  promise.then(
    () => Promise.reject(new Error('it was prepared')),
    (error) => error,
  );
