import type { Socket } from 'node:net';
import { Server, ServerCredentials, type ServerOptions } from '@grpc/grpc-js';
import type { DataPlane } from '../../streams/inference/data-plane.ts';
import type { Listening } from '../../streams/inference/front-end.ts';
import { compileHeaderPattern } from '../../streams/inference/header-forwarding.ts';
import type { Log } from '../../streams/inference/log.ts';
import type { RoomCounters } from './answer-room.ts';
import { InferService } from './infer-service.ts';
import { type Listener, listen } from './listen.ts';
import { healthService, inferenceService } from './messages.ts';
import { type CallCounters, OpenCalls } from './open-calls.ts';
import { largestMessage } from './render-response.ts';
import { grpcRoutes } from './routes.ts';
import { streamMarks } from './stream-marks.ts';
import { passThroughDefinition, serveCalls } from './transport.ts';
import { WideWindows } from './wide-windows.ts';

export interface GrpcConfig {
  readonly address: string;
  /** 0 for any that is free. */
  readonly port: number;
  /** Whether other servers may listen at the same port; the system spreads connections over them. */
  readonly reusePort: boolean;
  /** Regular expression for metadata that become parameters of requests; `''` for none. */
  readonly headerForwardPattern: string;
  /** How long a connection is silent before the server pings it, and how long the answer may take. */
  readonly keepaliveTimeMs: number;
  readonly keepaliveTimeoutMs: number;
  /** Age at which a connection takes no new calls, and what its calls have left then; 0 for no limit. */
  readonly maxConnectionAgeMs: number;
  readonly maxConnectionAgeGraceMs: number;
  readonly log: Log;
}

/** What the front end has to tell a gauge. */
export type GrpcCounters = CallCounters & RoomCounters;

export interface GrpcListening extends Listening {
  counters(): GrpcCounters;
}

const serverOptions = (config: GrpcConfig): ServerOptions => ({
  'grpc.max_receive_message_length': largestMessage,
  'grpc.max_send_message_length': -1,
  'grpc.enable_channelz': 0,
  'grpc.keepalive_time_ms': config.keepaliveTimeMs,
  'grpc.keepalive_timeout_ms': config.keepaliveTimeoutMs,
  ...(config.maxConnectionAgeMs > 0 ? { 'grpc.max_connection_age_ms': config.maxConnectionAgeMs } : {}),
  ...(config.maxConnectionAgeGraceMs > 0 ? { 'grpc.max_connection_age_grace_ms': config.maxConnectionAgeGraceMs } : {}),
});

const aborted = (signal: AbortSignal): Promise<void> =>
  signal.aborted ? Promise.resolve() : new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));

const closeServer = (server: Server): Promise<void> => new Promise((resolve) => server.tryShutdown(() => resolve()));

/** Calls end first: a connection that is told to go away would refuse new ones without saying why. */
const close = async (server: Server, listener: Listener, calls: OpenCalls, deadline: AbortSignal): Promise<void> => {
  const late = aborted(deadline);
  listener.stop();
  const ended = calls.shutDown();
  await Promise.race([ended, late]);
  await Promise.race([Promise.all([closeServer(server), listener.closed]), late]);
  server.forceShutdown();
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
  const server = new Server({ ...serverOptions(config), interceptors: [serveCalls(grpcRoutes(service, streamMarks))] });
  server.addService(passThroughDefinition(inferenceService), {});
  server.addService(passThroughDefinition(healthService), {});
  // Sockets are ours, so that the port is shared or not as we say, and none is left at the end.
  const connections = server.createConnectionInjector(ServerCredentials.createInsecure());
  const { address, port, reusePort } = config;
  const windows = new WideWindows();
  const onConnection = (socket: Socket): void => {
    windows.add(socket);
    connections.injectConnection(socket);
  };
  const listener = await listen({ address, port, reusePort, onConnection });
  return {
    address,
    port: listener.port,
    counters: () => ({ ...calls.counters(), ...service.room.counters() }),
    close: (deadline) => close(server, listener, calls, deadline),
  };
};
