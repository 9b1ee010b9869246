import type { ErrorCode } from '../../streams/inference/error.ts';

/** Triton's table; codes that it does not have are mapped by their meaning. */
const statuses: Readonly<Record<ErrorCode, number>> = {
  UNKNOWN: 400,
  INTERNAL: 500,
  NOT_FOUND: 404,
  INVALID_ARGUMENT: 400,
  UNAVAILABLE: 503,
  UNIMPLEMENTED: 501,
  ALREADY_EXISTS: 400,
  CANCELLED: 400,
  RESOURCE_EXHAUSTED: 503,
};

export const httpStatus = (code: ErrorCode): number => statuses[code];
