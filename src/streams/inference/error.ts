/**
 * Every way in which a request or a load can fail, by gRPC's names. Each front end has a table from these to its own statuses;
 * a new code needs a row in every one of them and in `docs/errors.md`.
 */
export type ErrorCode =
  | 'UNKNOWN'
  | 'INTERNAL'
  | 'NOT_FOUND'
  | 'INVALID_ARGUMENT'
  | 'UNAVAILABLE'
  | 'UNIMPLEMENTED'
  | 'ALREADY_EXISTS'
  | 'CANCELLED'
  | 'RESOURCE_EXHAUSTED';

/** Labels of `nv_inference_request_failure`. */
export type FailureReason = 'REJECTED' | 'CANCELED' | 'BACKEND' | 'OTHER';

/** `REFUSED` by a model's scheduler, as validation refuses: statistics do not count it. */
export type ErrorReason = FailureReason | 'REFUSED';

interface InferErrorOptions extends ErrorOptions {
  readonly reason?: ErrorReason;
}

/** A failure with a code and a message for the client. `cause` is for the log and is never sent. */
export class InferError extends Error {
  override readonly name = 'InferError';
  readonly code: ErrorCode;
  /** Under which reason statistics count it. */
  readonly reason: ErrorReason;

  constructor(code: ErrorCode, message: string, options?: InferErrorOptions) {
    super(message, options);
    this.code = code;
    this.reason = options?.reason ?? 'OTHER';
  }
}

/** Any thrown value as an InferError: what is not one already is INTERNAL and keeps its message. */
export const toInferError = (error: unknown, reason: FailureReason = 'OTHER'): InferError => {
  if (error instanceof InferError) return error;
  return new InferError('INTERNAL', error instanceof Error ? error.message : String(error), { cause: error, reason });
};

/** `[request id: x] `, with which Triton begins its messages on validation and queueing. */
export const requestPrefix = (id: string): string => `[request id: ${id === '' ? '<id_unknown>' : id}] `;
