import type { InferError } from '../../../streams/inference/error.ts';

/** gRPC's status codes, by their names. */
export const statusCodes = {
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  RESOURCE_EXHAUSTED: 8,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
} as const;

/** How a call ends. */
export interface CallStatus {
  readonly code: (typeof statusCodes)[keyof typeof statusCodes];
  /** Well-formed. */
  readonly details: string;
}

/** A status travels in a header block, and clients refuse those beyond 8 KiB. */
const longestDetails = 4096;

const details = (message: string): string => {
  const text = message.length > longestDetails ? `${message.slice(0, longestDetails)}…` : message;
  return text.toWellFormed();
};

export const okStatus: CallStatus = { code: statusCodes.OK, details: '' };

/** Messages go to the client as they are, causes never. */
export const toStatus = ({ code, message }: InferError): CallStatus => ({ code: statusCodes[code], details: details(message) });
