import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';

/** Answers an upgrade request that is not granted, in the form of every HTTP error, and ends the socket. */
export const refuseUpgrade = (socket: Duplex, status: number, message: string): void => {
  const body = JSON.stringify({ error: message });
  // The client may be gone already, and nobody else listens.
  socket.on('error', () => socket.destroy());
  socket.once('finish', () => socket.destroy());
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
};
