import { type GrpcConfig, type GrpcCounters, type GrpcListening, serveGrpc } from '../../../../src/frontends/grpc/serve-grpc.ts';
import { messageBytesLimit } from '../../../../src/frontends/grpc/transport/message-budget.ts';
import { GrpcClient } from './client.ts';
import { ErrorLog, type TestDataPlane } from './data-plane.ts';

export const grpcConfig = (fields: Partial<GrpcConfig> = {}): GrpcConfig => ({
  address: '127.0.0.1',
  port: 0,
  reusePort: false,
  headerForwardPattern: '',
  keepaliveTimeMs: 7_200_000,
  keepaliveTimeoutMs: 20_000,
  maxConnectionAgeMs: 0,
  maxConnectionAgeGraceMs: 0,
  log: new ErrorLog(),
  ...fields,
});

/** Of a server that has nothing to do. */
export const noCounts: GrpcCounters = {
  calls: 0,
  requestsInFlight: 0,
  outboxBytes: 0,
  waitingCalls: 0,
  waitingCallBytes: 0,
  messageBytes: 0,
  messageBytesLimit,
};

/** A server and a client of it. */
export interface Serving {
  readonly server: GrpcListening;
  readonly client: GrpcClient;
  stop(): Promise<void>;
}

export const serve = async (dataPlane: TestDataPlane, fields: Partial<GrpcConfig> = {}): Promise<Serving> => {
  const server = await serveGrpc(dataPlane, grpcConfig(fields));
  const client = new GrpcClient(server.port);
  const stop = async (): Promise<void> => {
    client.close();
    await server.close(AbortSignal.abort());
  };
  return { server, client, stop };
};
