import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import { InferError, toInferError } from '../../streams/inference/error.ts';
import { type Listening, waitingConnections } from '../../streams/inference/front-end.ts';
import type { Log } from '../../streams/inference/log.ts';

export interface MetricsServerConfig {
  readonly address: string;
  /** 0 for any that is free. */
  readonly port: number;
  readonly render: () => Promise<string>;
  readonly contentType: string;
  readonly log: Log;
}

const isMetricsPath = (url: string | undefined): boolean => {
  const path = url?.split('?', 1)[0];
  return path === '/metrics' || path === '/metrics/';
};

const listen = (server: Server, address: string, port: number): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      // The blank at the end is Triton's.
      const message = error.code === 'EADDRINUSE' ? `Socket '${address}:${port}' already in use ` : error.message;
      reject(new InferError('UNAVAILABLE', message, { cause: error }));
    });
    server.listen({ host: address, port, backlog: waitingConnections }, () => {
      const bound = server.address();
      resolve(bound !== null && typeof bound === 'object' ? bound.port : port);
    });
  });

const closeServer = (server: Server, deadline: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const cut = (): void => server.closeAllConnections();
    // Connections that wait for a next request are closed by it as well.
    server.close(() => {
      deadline.removeEventListener('abort', cut);
      resolve();
    });
    if (deadline.aborted) cut();
    else deadline.addEventListener('abort', cut, { once: true });
  });

/**
 * Answers `GET /metrics` and `/metrics/`. As in Triton another method is 405 and another path 200 without a body.
 * Rejects with UNAVAILABLE when the port cannot be had.
 */
export const serveMetrics = async ({ address, port, render, contentType, log }: MetricsServerConfig): Promise<Listening> => {
  const answer = async ({ method, url }: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (method !== 'GET') {
      response.writeHead(405, { allow: 'GET', 'content-length': 0 }).end();
      return;
    }
    if (!isMetricsPath(url)) {
      response.writeHead(200, { 'content-length': 0 }).end();
      return;
    }
    try {
      response.setHeader('content-type', contentType);
      response.end(await render());
    } catch (error) {
      log.error(`failed to render metrics: ${toInferError(error).message}`);
      response.writeHead(500, { 'content-length': 0 }).end();
    }
  };

  const server = createServer((request, response) => {
    void answer(request, response);
  });
  const bound = await listen(server, address, port);
  return { address, port: bound, close: (deadline) => closeServer(server, deadline) };
};
