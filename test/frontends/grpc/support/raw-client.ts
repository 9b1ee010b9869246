import http2, { type ClientHttp2Session, type ClientHttp2Stream, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http2';

/** A message as it travels; `flag` says whether it is compressed. */
export const framed = (message: Buffer, flag = 0): Buffer => {
  const head = Buffer.alloc(5);
  head[0] = flag;
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
};

const unframed = (bytes: Buffer): readonly Buffer[] => {
  const messages: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = at + 5 + bytes.readUInt32BE(at + 1);
    messages.push(bytes.subarray(at + 5, end));
    at = end;
  }
  return messages;
};

export type ResetReason = 'cancel' | 'none';

/** What came back on a call, once its stream is over. */
export interface RawEnd {
  /** Of HTTP. */
  readonly status: number;
  /** `grpc-status`. */
  readonly code: string | undefined;
  /** `grpc-message`, as it travels. */
  readonly message: string | undefined;
  readonly headers: IncomingHttpHeaders;
  /** None where the status came with the headers. */
  readonly trailers: IncomingHttpHeaders;
  readonly messages: readonly Buffer[];
  /** With which code the stream was reset, 0 for none. */
  readonly resetCode: number;
}

/** One call of a `RawClient`. */
export class RawCall {
  readonly #stream: ClientHttp2Stream;
  readonly #chunks: Buffer[] = [];
  #headers: IncomingHttpHeaders = {};
  #trailers: IncomingHttpHeaders = {};
  /** Resolves when the stream is over, here and for the server. */
  readonly closed: Promise<RawEnd>;
  /** Resolves when the server has ended the call, though it may be open from here. */
  readonly answered: Promise<RawEnd>;

  /** Resolves when a part of an answer has come. */
  readonly firstBytes: Promise<unknown>;

  /** `gone` resolves with its connection: Node's client does not say of each stream that it has gone with it. */
  constructor(stream: ClientHttp2Stream, gone: Promise<unknown>) {
    this.#stream = stream;
    this.firstBytes = new Promise((resolve) => stream.once('data', resolve));
    stream.on('error', () => {});
    stream.on('response', (headers) => {
      this.#headers = headers;
    });
    stream.on('trailers', (trailers) => {
      this.#trailers = trailers;
    });
    stream.on('data', (chunk: Buffer) => this.#chunks.push(chunk));
    const closed = new Promise((resolve) => stream.once('close', resolve));
    this.closed = Promise.race([closed, gone]).then(() => this.#end());
    const ended = new Promise<RawEnd>((resolve) => stream.once('end', () => resolve(this.#end())));
    this.answered = Promise.race([ended, this.closed]);
  }

  #end(): RawEnd {
    const said = { ...this.#headers, ...this.#trailers };
    return {
      status: Number(this.#headers[':status']),
      code: said['grpc-status']?.toString(),
      message: said['grpc-message']?.toString(),
      headers: this.#headers,
      trailers: this.#trailers,
      messages: unframed(Buffer.concat(this.#chunks)),
      resetCode: this.#stream.rstCode ?? 0,
    };
  }

  send(message: Buffer): void {
    this.sendBytes(framed(message));
  }

  /** Sends bytes as they are. Resolves when they have left. */
  sendBytes(bytes: Buffer): Promise<void> {
    return new Promise((resolve) => this.#stream.write(bytes, () => resolve()));
  }

  /** Reads nothing from now on. */
  pause(): void {
    this.#stream.pause();
  }

  resume(): void {
    this.#stream.resume();
  }

  halfClose(): void {
    this.#stream.end();
  }

  /** Resets the stream, at whatever point it is, as gRPC's clients do or without a reason. */
  cancel(reason: ResetReason = 'cancel'): void {
    this.#stream.close(reason === 'cancel' ? http2.constants.NGHTTP2_CANCEL : http2.constants.NGHTTP2_NO_ERROR);
    // Now and then Node's client says nothing more of a stream that it has reset, though the server has long let it go.
    setImmediate(() => this.#stream.destroy());
  }
}

/** gRPC by hand, without a library that has an opinion on when a call may be cancelled. */
export class RawClient {
  readonly session: ClientHttp2Session;
  readonly #gone: Promise<unknown>;

  constructor(port: number) {
    // In MB. What waits to be sent counts, too, and above it Node hears no more answers.
    this.session = http2.connect(`http://127.0.0.1:${port}`, { maxSessionMemory: 1000, maxSendHeaderBlockLength: 2 ** 20 });
    this.session.on('error', () => {});
    this.#gone = new Promise((resolve) => this.session.once('close', resolve));
  }

  /** Of a header that is undefined nothing is sent. */
  call(path: string, headers: OutgoingHttpHeaders = {}): RawCall {
    const all = { ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers', ...headers };
    return new RawCall(this.session.request(all, { endStream: false }), this.#gone);
  }

  /** Cuts the connection with all its calls. */
  cut(): void {
    this.session.destroy();
  }
}
