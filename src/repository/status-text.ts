import type { ErrorCode, InferError } from '../streams/inference/error.ts';

/** Triton's words for the codes, in the index and in the log. It has none for CANCELLED and RESOURCE_EXHAUSTED. */
const words: Readonly<Record<ErrorCode, string>> = {
  UNKNOWN: 'Unknown',
  INTERNAL: 'Internal',
  NOT_FOUND: 'Not found',
  INVALID_ARGUMENT: 'Invalid argument',
  UNAVAILABLE: 'Unavailable',
  UNIMPLEMENTED: 'Unsupported',
  ALREADY_EXISTS: 'Already exists',
  CANCELLED: '<invalid code>',
  RESOURCE_EXHAUSTED: '<invalid code>',
};

/** `Invalid argument: …`. */
export const statusText = ({ code, message }: InferError): string => `${words[code]}: ${message}`;
