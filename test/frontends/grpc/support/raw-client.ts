import http2, { type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2';

const framed = (message: Buffer): Buffer => {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
};

export type ResetReason = 'cancel' | 'none';

/** One call of a `RawClient`. */
export class RawCall {
  readonly #stream: ClientHttp2Stream;
  /** Resolves when the stream is over, here and for the server. */
  readonly closed: Promise<unknown>;

  constructor(stream: ClientHttp2Stream) {
    this.#stream = stream;
    stream.on('error', () => {});
    stream.resume();
    this.closed = new Promise((resolve) => stream.once('close', resolve));
  }

  send(message: Buffer): void {
    this.#stream.write(framed(message));
  }

  /** Reads nothing from now on. */
  pause(): void {
    this.#stream.pause();
  }

  halfClose(): void {
    this.#stream.end();
  }

  /** Resets the stream, at whatever point it is, as gRPC's clients do or without a reason. */
  cancel(reason: ResetReason = 'cancel'): void {
    this.#stream.close(reason === 'cancel' ? http2.constants.NGHTTP2_CANCEL : http2.constants.NGHTTP2_NO_ERROR);
  }
}

/** gRPC by hand, without a library that has an opinion on when a call may be cancelled. */
export class RawClient {
  readonly #session: ClientHttp2Session;

  constructor(port: number) {
    this.#session = http2.connect(`http://127.0.0.1:${port}`);
    this.#session.on('error', () => {});
  }

  call(path: string): RawCall {
    return new RawCall(this.#session.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' }));
  }

  /** Cuts the connection with all its calls. */
  cut(): void {
    this.#session.destroy();
  }
}
