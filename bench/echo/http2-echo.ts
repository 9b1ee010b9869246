import { createServer, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';

const head = { ':status': 200, 'content-type': 'application/grpc' };
const trailers = { 'grpc-status': '0' };

/** Bytes come back as they came, whatever messages are in them: no framing, no messages, no deadlines. */
const echo = (stream: ServerHttp2Stream): void => {
  stream.respond(head, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers(trailers));
  stream.on('error', () => {});
  stream.pipe(stream);
};

/** `node:http2` with nothing behind it but gRPC's headers and trailers, and windows as wide as Weir's. Answers the port. */
export const serveHttp2Echo = (): Promise<number> => {
  const server = createServer({ settings: { initialWindowSize: 4 * 2 ** 20, maxFrameSize: 2 ** 20 } });
  server.on('session', (session) => session.setLocalWindowSize(16 * 2 ** 20));
  server.on('stream', echo);
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)));
};
