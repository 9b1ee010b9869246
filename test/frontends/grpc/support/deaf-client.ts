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

const headers = (path: string): Buffer =>
  Buffer.concat([
    header(':method', 'POST'),
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

/**
 * An HTTP/2 client that opens one call and never reads a byte of what comes back. No library does that: they read and buffer, in this very
 * process.
 */
export class DeafClient {
  readonly #socket: Socket;

  private constructor(socket: Socket) {
    this.#socket = socket;
  }

  static async open(port: number, path: string, window: Window): Promise<DeafClient> {
    const socket = connect({ port, host: '127.0.0.1' });
    socket.on('error', () => {});
    socket.pause();
    await once(socket, 'connect');
    const largest = 2 ** 31 - 1;
    const settings = window === 'huge' ? Buffer.concat([Buffer.of(0, initialWindowSize), uint32(largest)]) : Buffer.alloc(0);
    socket.write(Buffer.concat([preface, frame(settingsType, 0, 0, settings)]));
    if (window === 'huge') socket.write(frame(windowUpdateType, 0, 0, uint32(largest - 65535)));
    socket.write(frame(headersType, endHeaders, 1, headers(path)));
    return new DeafClient(socket);
  }

  /** One message of the call. Together they must fit the server's window of 64 KiB. */
  send(message: Buffer): void {
    this.#socket.write(frame(dataType, 0, 1, Buffer.concat([Buffer.of(0), uint32(message.length), message])));
  }

  close(): void {
    this.#socket.destroy();
  }
}
