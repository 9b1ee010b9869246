import { InferError, toInferError } from '../../streams/inference/error.ts';
import type { Log } from '../../streams/inference/log.ts';

/** Whatever was thrown as an error for the client; one that nobody planned is written to the log with its stack. */
export const toClientError = (error: unknown, log: Log): InferError => {
  if (error instanceof InferError) return error;
  log.error(`gRPC: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  return toInferError(error);
};

const shuttingDownText = 'GRPC server is shutting down and has stopped accepting new requests.';

export const shuttingDown = (): InferError => new InferError('UNAVAILABLE', shuttingDownText);
