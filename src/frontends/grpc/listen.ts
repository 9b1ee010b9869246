import { createServer, type Server, type Socket } from 'node:net';
import { InferError } from '../../streams/inference/error.ts';
import { waitingConnections } from '../../streams/inference/front-end.ts';

export interface ListenConfig {
  readonly address: string;
  /** 0 for any that is free. */
  readonly port: number;
  /** Whether other servers may listen at the same port. */
  readonly reusePort: boolean;
  readonly onConnection: (socket: Socket) => void;
}

/** A port that is listened at, and the connections made to it. */
export interface Listener {
  readonly port: number;
  /** Takes no new connection. */
  stop(): void;
  /** Cuts the connections that are left. */
  cut(): void;
  /** Resolves when it has stopped and no connection is left. */
  readonly closed: Promise<void>;
}

const boundPort = (server: Server): number => {
  const bound = server.address();
  return bound !== null && typeof bound === 'object' ? bound.port : 0;
};

/** Rejects with UNAVAILABLE when the port cannot be had. */
export const listen = ({ address, port, reusePort, onConnection }: ListenConfig): Promise<Listener> =>
  new Promise((resolve, reject) => {
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
      onConnection(socket);
    });
    const closed = new Promise<void>((onClosed) => server.once('close', onClosed));
    server.once('error', (cause: NodeJS.ErrnoException) => {
      // The blank at the end is Triton's.
      const message = cause.code === 'EADDRINUSE' ? `Socket '${address}:${port}' already in use ` : cause.message;
      reject(new InferError('UNAVAILABLE', message, { cause }));
    });
    server.listen({ host: address, port, reusePort, backlog: waitingConnections }, () => {
      resolve({
        port: boundPort(server),
        stop: () => server.close(),
        cut: () => {
          for (const socket of sockets) socket.destroy();
        },
        closed,
      });
    });
  });
