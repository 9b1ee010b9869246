import { once } from 'node:events';
import { WebSocketServer } from 'ws';

/** `ws` with nothing behind it: each message goes back as it came. Answers the port. */
export const serveWebSocketEcho = async (): Promise<number> => {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false, clientTracking: false });
  server.on('connection', (socket) => {
    socket.on('message', (message: Buffer) => socket.send(message, { binary: true }));
    socket.on('error', () => {});
  });
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
};
