import { type Family, gauge } from './families.ts';

/** What the gRPC front end counts. */
export interface GrpcMetrics {
  readonly calls: number;
  readonly requestsInFlight: number;
  readonly outboxBytes: number;
  readonly waitingCalls: number;
  readonly waitingCallBytes: number;
  readonly messageBytes: number;
  readonly messageBytesLimit: number;
}

/** What the HTTP front end counts. */
export interface HttpMetrics {
  readonly waitingRequests: number;
  readonly heldBodyBytes: number;
  readonly bodyBytesLimit: number;
}

/** What the WebSocket front end counts. */
export interface WebSocketMetrics {
  readonly open: number;
  readonly requestsInFlight: number;
  readonly outboxBytes: number;
  /** Connections that have ended, by close code; 1006 for those cut off. */
  readonly closes: ReadonlyMap<number, number>;
}

/** Undefined for a front end that is not served. */
export interface FrontEndMetrics {
  readonly grpc: GrpcMetrics | undefined;
  readonly http: HttpMetrics | undefined;
  readonly webSocket: WebSocketMetrics | undefined;
}

const grpcFamilies = (counts: GrpcMetrics): Family[] => [
  gauge('weir_grpc_calls', 'gRPC calls that are open, of all kinds', counts.calls),
  gauge('weir_grpc_requests_in_flight', 'Requests of gRPC calls and streams without a final answer yet', counts.requestsInFlight),
  gauge('weir_grpc_outbox_bytes', 'Answers that wait for slow gRPC clients, in bytes', counts.outboxBytes),
  gauge('weir_grpc_waiting_calls', 'gRPC calls that wait until answers before them have been read', counts.waitingCalls),
  gauge('weir_grpc_waiting_call_bytes', 'Requests of the gRPC calls that wait, in bytes', counts.waitingCallBytes),
  gauge('weir_grpc_message_bytes', 'Messages of gRPC clients that came in many pieces or compressed, in bytes', counts.messageBytes),
  gauge('weir_grpc_message_bytes_limit', 'How much such messages may hold, in bytes', counts.messageBytesLimit),
];

const httpFamilies = (counts: HttpMetrics): Family[] => [
  gauge('weir_http_waiting_requests', 'HTTP requests that wait for the one before them on their connection', counts.waitingRequests),
  gauge('weir_http_body_bytes', 'Large bodies of HTTP requests and answers in flight, in bytes', counts.heldBodyBytes),
  gauge('weir_http_body_bytes_limit', 'How much large bodies of HTTP may hold, in bytes', counts.bodyBytesLimit),
];

const webSocketFamilies = (counts: WebSocketMetrics): Family[] => [
  gauge('weir_websocket_connections', 'WebSocket connections that are open', counts.open),
  gauge('weir_websocket_requests_in_flight', 'Requests on WebSocket connections without a final answer yet', counts.requestsInFlight),
  gauge('weir_websocket_outbox_bytes', 'Answers that wait for slow WebSocket clients, in bytes', counts.outboxBytes),
  {
    kind: 'counter',
    name: 'weir_websocket_closes_total',
    help: 'WebSocket connections that have ended, by close code; 1006 for those cut off',
    samples: [...counts.closes].sort(([a], [b]) => a - b).map(([code, value]) => ({ labels: { code: String(code) }, value })),
  },
];

/** What waits in the front ends, and how much may. */
export const frontEndFamilies = ({ grpc, http, webSocket }: FrontEndMetrics): readonly Family[] => [
  ...(grpc === undefined ? [] : grpcFamilies(grpc)),
  ...(http === undefined ? [] : httpFamilies(http)),
  ...(webSocket === undefined ? [] : webSocketFamilies(webSocket)),
];
