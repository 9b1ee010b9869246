import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const settingsType = 4;
const windowUpdateType = 8;
const headersType = 1;
const dataType = 0;
const endHeaders = 4;
const initialWindowSize = 4;

const frame = (type: number, flags: number, stream: number, payload: Buffer): Buffer => {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
};

/** HPACK without its table and without Huffman's code. */
const header = (name: string, value: string): Buffer =>
  Buffer.concat([Buffer.of(0, name.length), Buffer.from(name), Buffer.of(value.length), Buffer.from(value)]);

const headers = (method: string, path: string): Buffer =>
  Buffer.concat([
    header(':method', method),
    header(':scheme', 'http'),
    header(':path', path),
    header(':authority', 'localhost'),
    header('content-type', 'application/grpc'),
    header('te', 'trailers'),
  ]);

const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};

/** The stream's window: `default` holds 64 KiB, `huge` as much as HTTP/2 allows, so that only TCP is in the way. */
export type Window = 'default' | 'huge';

const endStream = 1;

/** One call of a `DeafClient`. */
export class DeafCall {
  readonly #socket: Socket;
  readonly #id: number;

  constructor(socket: Socket, id: number) {
    this.#socket = socket;
    this.#id = id;
  }

  /** All messages of a call together must fit the window that a server gives to who never acknowledges its settings: 64 KiB. */
  send(message: Buffer): void {
    this.sendFrame(Buffer.concat([Buffer.of(0), uint32(message.length), message]));
  }

  /** One frame of data, of 16 KiB at most. Resolves when it has left. */
  sendFrame(bytes: Buffer): Promise<void> {
    return new Promise((resolve) => this.#socket.write(frame(dataType, 0, this.#id, bytes), () => resolve()));
  }

  halfClose(): void {
    this.#socket.write(frame(dataType, endStream, this.#id, Buffer.alloc(0)));
  }
}

/**
 * An HTTP/2 client that opens calls and never reads a byte of what comes back. No library does that: they read and buffer, in this very
 * process.
 */
export class DeafClient {
  readonly #socket: Socket;
  #nextId = 1;

  private constructor(socket: Socket) {
    this.#socket = socket;
  }

  static async open(port: number, window: Window): Promise<DeafClient> {
    const socket = connect({ port, host: '127.0.0.1' });
    socket.on('error', () => {});
    socket.pause();
    await once(socket, 'connect');
    const largest = 2 ** 31 - 1;
    const settings = window === 'huge' ? Buffer.concat([Buffer.of(0, initialWindowSize), uint32(largest)]) : Buffer.alloc(0);
    socket.write(Buffer.concat([preface, frame(settingsType, 0, 0, settings)]));
    if (window === 'huge') socket.write(frame(windowUpdateType, 0, 0, uint32(largest - 65535)));
    return new DeafClient(socket);
  }

  call(path: string, method = 'POST'): DeafCall {
    const id = this.#nextId;
    this.#nextId += 2;
    this.#socket.write(frame(headersType, endHeaders, id, headers(method, path)));
    return new DeafCall(this.#socket, id);
  }

  close(): void {
    this.#socket.destroy();
  }
}
