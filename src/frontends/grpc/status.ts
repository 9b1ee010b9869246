import { status } from '@grpc/grpc-js';
import { type ErrorCode, InferError, toInferError } from '../../streams/inference/error.ts';
import type { Log } from '../../streams/inference/log.ts';

/** How a call ends. */
export interface CallStatus {
  readonly code: status;
  readonly details: string;
}

const statuses: Readonly<Record<ErrorCode, status>> = {
  UNKNOWN: status.UNKNOWN,
  INTERNAL: status.INTERNAL,
  NOT_FOUND: status.NOT_FOUND,
  INVALID_ARGUMENT: status.INVALID_ARGUMENT,
  UNAVAILABLE: status.UNAVAILABLE,
  UNIMPLEMENTED: status.UNIMPLEMENTED,
  ALREADY_EXISTS: status.ALREADY_EXISTS,
  CANCELLED: status.CANCELLED,
  RESOURCE_EXHAUSTED: status.RESOURCE_EXHAUSTED,
};

/** A status travels in a header block, and clients refuse those beyond 8 KiB. */
const longestDetails = 4096;

const details = (message: string): string => {
  const text = message.length > longestDetails ? `${message.slice(0, longestDetails)}…` : message;
  return text.toWellFormed();
};

export const okStatus: CallStatus = { code: status.OK, details: 'OK' };

/** Messages go to the client as they are, causes never. */
export const toStatus = ({ code, message }: InferError): CallStatus => ({ code: statuses[code], details: details(message) });

/** Whatever was thrown as an error for the client; one that nobody planned is written to the log with its stack. */
export const toClientError = (error: unknown, log: Log): InferError => {
  if (error instanceof InferError) return error;
  log.error(`gRPC: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  return toInferError(error);
};

const shuttingDownText = 'GRPC server is shutting down and has stopped accepting new requests.';

export const shuttingDown = (): InferError => new InferError('UNAVAILABLE', shuttingDownText);
