import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { errorText } from './render-response.ts';

interface Refusal {
  readonly status: number;
  readonly message: string;
}

const badRequest: Refusal = { status: 400, message: 'Bad Request' };

/** By the codes of Node's parser. */
const refusals: Readonly<Record<string, Refusal>> = {
  HPE_HEADER_OVERFLOW: { status: 431, message: 'Request Header Fields Too Large' },
  HPE_INVALID_CONTENT_LENGTH: { status: 400, message: 'Unable to parse Content-Length' },
  HPE_UNEXPECTED_CONTENT_LENGTH: { status: 400, message: 'Unable to parse Content-Length' },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, message: 'Request Timeout' },
};

/** What is still taken from a client that was refused: closing before it has sent all would take the answer away from it. */
const lingeringBytes = 16 * 1024 * 1024;

/** Answers bytes that are no request, and ends the connection. Between an answer and the next one there is no place for it. */
export const refuseConnection = (error: Error & { readonly code?: string }, socket: Socket, isBusy: boolean): void => {
  // Node reports so when it has itself paused the parser of a connection with many requests on it.
  if (error.code === 'HPE_PAUSED') return;
  const isRefused = socket.writableEnded && error.code !== 'ERR_HTTP_REQUEST_TIMEOUT';
  if (isRefused && !isBusy && socket.bytesRead < lingeringBytes) return;
  if (isBusy || !socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const { status, message } = refusals[error.code ?? ''] ?? badRequest;
  const body = errorText(message);
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
};
