import type { ErrorCode, InferError } from '../streams/inference/error.ts';

/** Error codes in the words of Triton's log. */
const codeNames: Readonly<Record<ErrorCode, string>> = {
  UNKNOWN: 'Unknown',
  INTERNAL: 'Internal',
  NOT_FOUND: 'Not found',
  INVALID_ARGUMENT: 'Invalid argument',
  UNAVAILABLE: 'Unavailable',
  UNIMPLEMENTED: 'Unsupported',
  ALREADY_EXISTS: 'Already exists',
  CANCELLED: 'Cancelled',
  RESOURCE_EXHAUSTED: 'Resource exhausted',
};

/** `Internal - failed to load all models`. */
export const describeError = ({ code, message }: InferError): string => `${codeNames[code]} - ${message}`;
