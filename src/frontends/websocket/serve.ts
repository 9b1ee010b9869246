import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { interval } from 'rxjs';
import { WebSocketServer } from 'ws';
import { machineScheduler, type Scheduler } from '../../streams/flow/clock.ts';
import type { DataPlane } from '../../streams/inference/data-plane.ts';
import type { Log } from '../../streams/inference/log.ts';
import { chooseSubprotocol } from './choose-subprotocol.ts';
import { Connection } from './connection.ts';
import type { WebSocketCounters } from './counters.ts';
import { countClose } from './counters.ts';
import { framesOf } from './frames.ts';
import { isAllowedOrigin } from './is-allowed-origin.ts';
import { refuseUpgrade } from './refuse-upgrade.ts';
import { streamTarget } from './stream-target.ts';

export interface WebSocketOptions {
  readonly log: Log;
  /** `--ws-max-inflight`: requests without a final answer, per connection, before its socket is no longer read. */
  readonly maxInflight?: number | undefined;
  /** `--ws-ping-interval`; a client that is silent for that long after a ping is ended. 0 for no pings. */
  readonly pingIntervalMs?: number | undefined;
  /** Says when to ping. */
  readonly scheduler?: Scheduler | undefined;
  /** `--ws-max-message-bytes`; also what one tensor written as JSON may take. */
  readonly maxMessageBytes?: number | undefined;
  /** `--ws-allowed-origin`: origins besides the server's own whose pages may connect; `*` for all. */
  readonly allowedOrigins?: readonly string[] | undefined;
  /** One more is closed with 1013. */
  readonly maxConnections?: number | undefined;
  /** Answers that may wait for one slow reader before its socket is no longer read. */
  readonly pauseAboveBytes?: number | undefined;
  /** Answers that may wait for one slow reader before the next one ends its request with RESOURCE_EXHAUSTED. */
  readonly refuseAboveBytes?: number | undefined;
}

export interface WebSocketFrontEnd {
  /** For the `upgrade` event of an HTTP server. False when the path is none of ours: the socket is untouched then. */
  onUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): boolean;
  /**
   * Takes no new connection and no new request, closes each connection with 1001 when its requests have ended, and all that are left when
   * `deadline` aborts. Resolves when none is left.
   */
  close(deadline: AbortSignal): Promise<void>;
  /** For gauges. */
  connections(): WebSocketCounters;
}

const MiB = 1024 * 1024;

/** How long a client may take to answer a close frame. */
const closeTimeoutMs = 2000;

/** Weir's WebSocket protocol, version 2, on upgraded connections of an HTTP server. */
export const serveWebSocket = (dataPlane: DataPlane, options: WebSocketOptions): WebSocketFrontEnd => {
  const {
    log,
    maxInflight = 64,
    pingIntervalMs = 20_000,
    scheduler = machineScheduler,
    maxMessageBytes = 64 * MiB,
    allowedOrigins = [],
    maxConnections = 10_000,
    pauseAboveBytes = MiB,
    refuseAboveBytes = 16 * MiB,
  } = options;

  const connections = new Set<Connection>();
  const closes = new Map<number, number>();
  let isClosing = false;
  const allClosed = Promise.withResolvers<void>();

  const serverOptions = {
    noServer: true,
    clientTracking: false,
    // Costs each connection hundreds of kilobytes, and tensors hardly shrink.
    perMessageDeflate: false,
    maxPayload: maxMessageBytes,
    closeTimeout: closeTimeoutMs,
    handleProtocols: (_offered: Set<string>, request: IncomingMessage): string | false => {
      const choice = chooseSubprotocol(request.headers['sec-websocket-protocol']);
      return 'subprotocol' in choice && choice.subprotocol;
    },
  };
  const server = new WebSocketServer(serverOptions);

  const tick = (): void => {
    for (const connection of connections) connection.tick();
  };
  const pings = pingIntervalMs > 0 ? interval(pingIntervalMs, scheduler).subscribe(tick) : undefined;

  const onClosed = (connection: Connection, code: number): void => {
    connections.delete(connection);
    countClose(closes, code);
    log.verbose(1, `WebSocket connection closed with code ${code}`);
    if (isClosing && connections.size === 0) allClosed.resolve();
  };

  const onUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): boolean => {
    const target = streamTarget(request.url ?? '');
    if (target === undefined) return false;
    const { origin, host } = request.headers;
    if (isClosing || dataPlane.isExiting()) {
      refuseUpgrade(socket, 503, 'Server exiting');
      return true;
    }
    if (!isAllowedOrigin(origin, host, allowedOrigins)) {
      refuseUpgrade(socket, 403, `origin '${origin}' is not allowed`);
      return true;
    }
    const choice = chooseSubprotocol(request.headers['sec-websocket-protocol']);
    if ('refusal' in choice) {
      refuseUpgrade(socket, 400, choice.refusal);
      return true;
    }
    server.handleUpgrade(request, socket, head, (webSocket) => {
      const connection = new Connection({
        webSocket,
        socket,
        frames: framesOf[choice.subprotocol],
        target,
        dataPlane,
        maxInflight,
        maxMessageBytes,
        pauseAboveBytes,
        refuseAboveBytes,
        log,
        onClosed,
      });
      connections.add(connection);
      if (connections.size > maxConnections) connection.close(1013, 'too many connections');
    });
    return true;
  };

  const close = async (deadline: AbortSignal): Promise<void> => {
    isClosing = true;
    pings?.unsubscribe();
    if (connections.size === 0) allClosed.resolve();
    for (const connection of connections) connection.drain();
    const cut = (): void => {
      for (const connection of connections) connection.cut(1001, 'server stopping');
    };
    if (deadline.aborted) cut();
    else deadline.addEventListener('abort', cut, { once: true });
    await allClosed.promise;
    deadline.removeEventListener('abort', cut);
  };

  return {
    onUpgrade,
    close,
    connections: () => {
      let requestsInFlight = 0;
      let outboxBytes = 0;
      for (const connection of connections) {
        requestsInFlight += connection.requestsInFlight;
        outboxBytes += connection.outboxBytes;
      }
      return { open: connections.size, requestsInFlight, outboxBytes, closes };
    },
  };
};
