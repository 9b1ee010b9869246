import type { ErrorCode } from './error.ts';

/** Error codes in the words of Triton's log and index, which has none for the last two. */
export const codeWords: Readonly<Record<ErrorCode, string>> = {
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
