import type { Socket } from 'node:net';
import type { DataPlane } from '../../streams/inference/data-plane.ts';
import type { Listening } from '../../streams/inference/front-end.ts';
import { compileHeaderPattern } from '../../streams/inference/header-forwarding.ts';
import type { Log } from '../../streams/inference/log.ts';
import type { RoomCounters } from './answer-room.ts';
import { InferService } from './infer-service.ts';
import { type Listener, listen } from './listen.ts';
import { type CallCounters, OpenCalls } from './open-calls.ts';
import { largestMessage } from './render-response.ts';
import { grpcRoutes } from './routes.ts';
import { streamMarks } from './stream-marks.ts';
import { Connection, type ConnectionConfig } from './transport/connection.ts';
import { MessageBudget } from './transport/message-budget.ts';

export interface GrpcConfig extends Omit<ConnectionConfig, 'routes' | 'limits'> {
  readonly address: string;
  /** 0 for any that is free. */
  readonly port: number;
  /** Whether other servers may listen at the same port; the system spreads connections over them. */
  readonly reusePort: boolean;
  /** Regular expression for metadata that become parameters of requests; `''` for none. */
  readonly headerForwardPattern: string;
  readonly log: Log;
}

/** What the front end has to tell a gauge. */
export interface GrpcCounters extends CallCounters, RoomCounters {
  /** What messages of clients hold that came in many pieces or compressed. */
  readonly messageBytes: number;
  readonly messageBytesLimit: number;
}

export interface GrpcListening extends Listening {
  counters(): GrpcCounters;
}

const aborted = (signal: AbortSignal): Promise<void> =>
  signal.aborted ? Promise.resolve() : new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));

/** Calls end first: a connection that is told to go away would refuse new ones without saying why. */
const close = async (connections: Iterable<Connection>, listener: Listener, calls: OpenCalls, deadline: AbortSignal): Promise<void> => {
  const late = aborted(deadline);
  listener.stop();
  const ended = calls.shutDown();
  await Promise.race([ended, late]);
  for (const connection of connections) connection.close();
  await Promise.race([listener.closed, late]);
  listener.cut();
  await Promise.all([listener.closed, ended]);
};

/**
 * Serves KServe's and Triton's gRPC service and `grpc.health.v1`. Rejects with UNAVAILABLE when the port cannot be had, with INVALID_ARGUMENT
 * for a pattern that is no regular expression.
 */
export const serveGrpc = async (dataPlane: DataPlane, config: GrpcConfig): Promise<GrpcListening> => {
  const calls = new OpenCalls();
  const service = new InferService(dataPlane, calls, config.log, compileHeaderPattern(config.headerForwardPattern));
  const limits = { limitBytes: largestMessage, budget: new MessageBudget() };
  const connectionConfig: ConnectionConfig = { ...config, routes: grpcRoutes(service, streamMarks), limits };
  const connections = new Set<Connection>();
  // Sockets are ours, so that the port is shared or not as we say, and none is left at the end.
  const onConnection = (socket: Socket): void => {
    const connection = new Connection(socket, connectionConfig);
    connections.add(connection);
    socket.once('close', () => connections.delete(connection));
  };
  const { address, port, reusePort } = config;
  const listener = await listen({ address, port, reusePort, onConnection });
  return {
    address,
    port: listener.port,
    counters: () => ({
      ...calls.counters(),
      ...service.room.counters(),
      messageBytes: limits.budget.heldBytes,
      messageBytesLimit: limits.budget.limitBytes,
    }),
    close: (deadline) => close(connections, listener, calls, deadline),
  };
};
