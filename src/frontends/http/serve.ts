import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import fastify from 'fastify';
import type { DataPlane } from '../../streams/inference/data-plane.ts';
import { InferError, toInferError } from '../../streams/inference/error.ts';
import { type Listening, waitingConnections } from '../../streams/inference/front-end.ts';
import { compileHeaderPattern } from '../../streams/inference/header-forwarding.ts';
import { KnownHeads } from '../../streams/inference/json/known-heads.ts';
import type { Log } from '../../streams/inference/log.ts';
import { BodyMemory } from './body-memory.ts';
import { Connections } from './connections.ts';
import { drain } from './drain.ts';
import { graphRoutes } from './graph-routes.ts';
import { healthRoutes } from './health-routes.ts';
import { inferAtOnce, inferRoutes } from './infer-routes.ts';
import { metadataRoutes } from './metadata-routes.ts';
import { missingRoutes } from './missing-routes.ts';
import { bodyLimits } from './parse-request.ts';
import { refuseConnection } from './refuse-connection.ts';
import { errorText } from './render-response.ts';
import { repositoryRoutes } from './repository-routes.ts';
import { sendJson } from './routes.ts';
import { statisticsRoutes } from './statistics-routes.ts';
import { httpStatus } from './status.ts';

export interface HttpConfig {
  readonly address: string;
  /** 0 for any free one. */
  readonly port: number;
  readonly reusePort: boolean;
  /** Bytes: Triton's `--http-max-input-size`. */
  readonly maxInputSize: number;
  /** A RE2 pattern; `''` to forward no header. */
  readonly headerForwardPattern: string;
  readonly log: Log;
  /** Takes a WebSocket upgrade over; false when it is not for it. */
  readonly onUpgrade?: (request: IncomingMessage, socket: Duplex, head: Buffer) => boolean;
}

/** What waits and what is held now, for gauges. */
export interface HttpCounters {
  /** Requests that wait for the one before them on their connection. */
  readonly waitingRequests: number;
  /** Bytes of large request and answer bodies in flight, and how many there may be. */
  readonly heldBodyBytes: number;
  readonly bodyBytesLimit: number;
}

export type HttpListening = Listening & {
  readonly server: Server;
  counters(): HttpCounters;
};

const anyType = 'application/octet-stream';

/** Long enough that a client's pool of idle connections gives up first. */
const keepAliveTimeoutMs = 10 * 60 * 1000;

/**
 * Serves Triton's HTTP protocol. Rejects with InferError UNAVAILABLE when the port is taken, INVALID_ARGUMENT for a header pattern that is none.
 */
export const serveHttp = async (dataPlane: DataPlane, config: HttpConfig): Promise<HttpListening> => {
  const isForwarded = compileHeaderPattern(config.headerForwardPattern);
  const limits = bodyLimits(config.maxInputSize);
  const memory = new BodyMemory();
  const server = createServer({ keepAliveTimeout: keepAliveTimeoutMs, shouldUpgradeCallback: upgradesTo(config) });
  const context = { dataPlane, limits, memory, isForwarded, heads: new KnownHeads() };
  const infer = inferAtOnce(context);
  const connections = new Connections(server, (request, response) => {
    if (infer(request, response)) return;
    // Bodies are what the path says, whatever their type; fastify would refuse one that it cannot read.
    request.headers['content-type'] = anyType;
    app.routing(request, response);
  });
  const app = createApp(server, connections, config.log);
  healthRoutes(app, dataPlane);
  metadataRoutes(app, dataPlane);
  statisticsRoutes(app, dataPlane);
  graphRoutes(app, dataPlane);
  repositoryRoutes(app, { dataPlane, limit: limits.json, memory });
  inferRoutes(app, context);
  missingRoutes(app);
  await app.ready();
  if (config.onUpgrade !== undefined) server.on('upgrade', upgradeWith(config.onUpgrade, connections));
  await listen(server, config);
  const bound = server.address();
  const port = typeof bound === 'object' && bound !== null ? bound.port : config.port;
  return {
    address: config.address,
    port,
    server,
    counters: () => ({ waitingRequests: connections.waiting, heldBodyBytes: memory.heldBytes, bodyBytesLimit: memory.limitBytes }),
    close: (deadline) => close(server, connections, app, deadline),
  };
};

const createApp = (server: Server, connections: Connections, log: Log): FastifyInstance => {
  const app = fastify({
    serverFactory: () => server,
    logger: false,
    exposeHeadRoutes: false,
    return503OnClosing: false,
    clientErrorHandler: (error, socket) => refuseConnection(error, socket, connections.isBusy(socket)),
    // A model's name may be as long as a header line.
    routerOptions: { maxParamLength: 16384, querystringParser: () => ({}) },
    frameworkErrors: (error, request, reply) => {
      drain(request.raw);
      void sendJson(reply, errorText(error.message), error.statusCode ?? 400);
    },
  });
  app.removeAllContentTypeParsers();
  // Handlers read bodies themselves, from the raw stream.
  app.addContentTypeParser(anyType, (_request, _payload, done) => done(null));
  app.setNotFoundHandler((request, reply) => {
    drain(request.raw);
    return sendJson(reply, errorText('Not Found'), 404);
  });
  app.setErrorHandler((thrown, request, reply) => {
    drain(request.raw);
    const error = toInferError(thrown);
    if (!(thrown instanceof InferError)) log.error(`${request.method} ${request.url} failed: ${error.message}`);
    return sendJson(reply, errorText(error.message), httpStatus(error.code));
  });
  return app;
};

/** Only WebSocket: clients that offer HTTP/2 by an upgrade are content with HTTP/1.1. */
const upgradesTo =
  ({ onUpgrade }: HttpConfig) =>
  (request: IncomingMessage): boolean =>
    onUpgrade !== undefined && request.headers.upgrade?.toLowerCase() === 'websocket';

const upgradeWith =
  (onUpgrade: NonNullable<HttpConfig['onUpgrade']>, connections: Connections) =>
  (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    connections.release(socket);
    if (onUpgrade(request, socket, head)) return;
    const body = errorText('Not Found');
    socket.end(
      `HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
  };

const listen = (server: Server, { address, port, reusePort }: HttpConfig): Promise<void> =>
  new Promise((resolve, reject) => {
    const onError = (cause: NodeJS.ErrnoException): void => {
      const isTaken = cause.code === 'EADDRINUSE';
      reject(new InferError('UNAVAILABLE', isTaken ? `Socket '${address}:${port}' already in use ` : cause.message, { cause }));
    };
    server.once('error', onError);
    server.listen({ host: address, port, reusePort, backlog: waitingConnections }, () => {
      server.off('error', onError);
      resolve();
    });
  });

const close = async (server: Server, connections: Connections, app: FastifyInstance, deadline: AbortSignal): Promise<void> => {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  const onDeadline = (): void => connections.destroy();
  connections.finish();
  if (deadline.aborted) onDeadline();
  else deadline.addEventListener('abort', onDeadline, { once: true });
  await closed;
  deadline.removeEventListener('abort', onDeadline);
  await app.close();
};
