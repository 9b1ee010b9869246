import type { IncomingMessage } from 'node:http';

/** What is read for politeness from a client that has its answer already and goes on sending. */
const mostDrainedBytes = 256 * 1024 * 1024;

/**
 * Reads and drops what is left of a request's body, so that the client comes to read its answer and the connection stays usable; a client that
 * never stops is cut off.
 */
export const drain = (request: IncomingMessage): void => {
  if (request.complete && request.readableEnded) return;
  let drained = 0;
  request.on('data', (piece: Buffer) => {
    drained += piece.byteLength;
    if (drained > mostDrainedBytes) request.socket.destroy();
  });
  request.resume();
};
