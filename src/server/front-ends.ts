import { serveGrpc } from '../frontends/grpc/serve-grpc.ts';
import { serveHttp } from '../frontends/http/serve.ts';
import { serveMetrics } from '../frontends/metrics/serve.ts';
import { serveWebSocket, type WebSocketFrontEnd } from '../frontends/websocket/serve.ts';
import type { DataPlane } from '../streams/inference/data-plane.ts';
import type { ServerLog } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/prometheus.ts';
import { metricsAddress } from './listeners.ts';
import type { FrontEnd } from './open-front-ends.ts';
import type { ServerSettings } from './settings.ts';

interface FrontEndsConfig {
  readonly settings: ServerSettings;
  readonly dataPlane: DataPlane;
  readonly webSocket: WebSocketFrontEnd;
  readonly metrics: Metrics;
  readonly log: ServerLog;
}

export const webSocketOf = (settings: ServerSettings, dataPlane: DataPlane, log: ServerLog): WebSocketFrontEnd => {
  const { maxInflight, pingIntervalMs, maxMessageBytes, allowedOrigins } = settings.webSocket;
  return serveWebSocket(dataPlane, {
    log: log.named('websocket'),
    maxInflight,
    pingIntervalMs,
    allowedOrigins,
    maxMessageBytes: maxMessageBytes === 0 ? settings.http.maxInputBytes : maxMessageBytes,
  });
};

/** Those that the settings allow, in the order in which Triton opens them. */
export const frontEndsOf = ({ settings, dataPlane, webSocket, metrics, log }: FrontEndsConfig): readonly FrontEnd[] => {
  const { http, grpc } = settings;
  const all: readonly (FrontEnd & { readonly allow: boolean })[] = [
    {
      kind: 'grpc',
      allow: grpc.allow,
      open: async () => ({ kind: 'grpc', ...(await serveGrpc(dataPlane, { ...grpc, log: log.named('grpc') })) }),
    },
    {
      kind: 'http',
      allow: http.allow,
      open: async () => {
        const listening = await serveHttp(dataPlane, {
          address: http.address,
          port: http.port,
          reusePort: http.reusePort,
          headerForwardPattern: http.headerForwardPattern,
          maxInputSize: http.maxInputBytes,
          onUpgrade: webSocket.onUpgrade,
          log: log.named('http'),
        });
        return { kind: 'http', ...listening };
      },
    },
    {
      kind: 'metrics',
      allow: settings.metrics.allow,
      open: async () => {
        const listening = await serveMetrics({
          address: metricsAddress(settings),
          port: settings.metrics.port,
          contentType: metrics.contentType,
          render: metrics.render,
          log: log.named('metrics'),
        });
        return { kind: 'metrics', ...listening };
      },
    },
  ];
  return all.filter(({ allow }) => allow);
};
