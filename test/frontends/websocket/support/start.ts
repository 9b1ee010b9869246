import { once } from 'node:events';
import type { Server } from 'node:http';
import { createServer } from 'node:http';
import { Socket } from 'node:net';
import type { WebSocketFrontEnd, WebSocketOptions } from '../../../../src/frontends/websocket/serve.ts';
import { serveWebSocket } from '../../../../src/frontends/websocket/serve.ts';
import type { Infer } from '../../../../src/streams/inference/infer.ts';
import { makeLog } from '../../../support/model.ts';
import { scriptedDataPlane } from './scripted-data-plane.ts';

export interface TestServer {
  readonly origin: string;
  readonly port: number;
  readonly frontEnd: WebSocketFrontEnd;
  /** Lines at level info and worse. */
  readonly logged: readonly string[];
  /** By the sockets of all connections so far. */
  readonly bytesRead: number;
  stop(): Promise<void>;
}

const listen = async (server: Server): Promise<number> => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
};

/** The front end over scripted models on a real port. */
export const startWebSocket = async (
  models: Readonly<Record<string, Infer>>,
  options: Omit<WebSocketOptions, 'log'> = {},
): Promise<TestServer> => {
  const log = makeLog();
  const frontEnd = serveWebSocket(scriptedDataPlane(models), { ...options, log });
  const sockets: Socket[] = [];
  const server = createServer();
  server.on('upgrade', (request, socket, head) => {
    if (socket instanceof Socket) sockets.push(socket);
    if (!frontEnd.onUpgrade(request, socket, head)) socket.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n');
  });
  const port = await listen(server);
  return {
    origin: `ws://127.0.0.1:${port}`,
    port,
    frontEnd,
    get bytesRead() {
      return sockets.reduce((sum, { bytesRead }) => sum + bytesRead, 0);
    },
    get logged() {
      return log.lines.filter((line) => !line.startsWith('verbose'));
    },
    stop: async () => {
      await frontEnd.close(AbortSignal.abort());
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
};
