import type { EchoPorts } from '../servers.ts';
import { serveGrpcEcho } from './grpc-echo.ts';
import { serveHttpEcho } from './http-echo.ts';
import { serveHttp2Echo } from './http2-echo.ts';
import { serveWebSocketEcho } from './websocket-echo.ts';

// What the libraries cost alone: an echo for each protocol in one process, of which a load asks one at a time. Prints the ports as JSON.
const grpc = await serveGrpcEcho();
const ports: EchoPorts = {
  'grpc-unary': grpc,
  'grpc-stream': grpc,
  websocket: await serveWebSocketEcho(),
  http: await serveHttpEcho(),
  http2: await serveHttp2Echo(),
};
console.log(JSON.stringify(ports));
