import { randomBytes } from 'node:crypto';
import { BodyCollector } from './body-collector.ts';
import type { AnswerSink, Connection } from './connection.ts';
import { FrameReader, type Framing } from './frame-reader.ts';
import { Wire } from './wire.ts';

const headEnd = Buffer.from('\r\n\r\n');
const binaryFrame = 0x82;
const pingFrame = 0x89;
const pongFrame = 0x8a;

/** A client's frame. The mask must not be zero: servers pass over those, and no client sends them. */
const masked = (opcode: number, payload: Buffer): Buffer => {
  const { length } = payload;
  const lengthBytes = length < 126 ? 0 : length < 65536 ? 2 : 8;
  const frame = Buffer.allocUnsafe(2 + lengthBytes + 4 + length);
  frame[0] = opcode;
  frame[1] = 0x80 | (lengthBytes === 0 ? length : lengthBytes === 2 ? 126 : 127);
  if (lengthBytes === 2) frame.writeUInt16BE(length, 2);
  if (lengthBytes === 8) frame.writeBigUInt64BE(BigInt(length), 2);
  const mask = Buffer.from([0x5a, 0x17, 0xc3, 0x88]);
  mask.copy(frame, 2 + lengthBytes);
  const start = 6 + lengthBytes;
  for (let index = 0; index < length; index++) frame[start + index] = (payload[index] ?? 0) ^ (mask[index & 3] ?? 0);
  return frame;
};

const upgrade = (path: string): string =>
  [
    `GET ${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Protocol: weir.v2.binary',
    `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}`,
  ].join('\r\n');

export interface WebSocketConfig {
  readonly port: number;
  readonly model: string;
  /** The first of its slots, which are numbered on, and what each of them sends. */
  readonly firstSlot: number;
  readonly payloads: readonly Buffer[];
  readonly sink: AnswerSink;
}

/** One WebSocket; answers come in the order of the requests, which full checks verify. */
export class WebSocketConnection implements Connection, Framing {
  bodyBytes = 0;
  readonly #config: WebSocketConfig;
  readonly #frames: readonly Buffer[];
  readonly #wire: Wire;
  readonly #reader = new FrameReader(this);
  readonly #body = new BodyCollector();
  readonly #order: number[] = [];
  readonly #upgraded = Promise.withResolvers<void>();
  #opcode = 0;
  #isUpgraded = false;

  private constructor(config: WebSocketConfig) {
    this.#config = config;
    this.#frames = config.payloads.map((payload) => masked(binaryFrame, payload));
    this.#wire = new Wire(config.port, {
      onBytes: (bytes) => this.#reader.push(bytes),
      onLost: (why) => {
        this.#upgraded.reject(new Error(why));
        config.sink.onLost(why);
      },
    });
  }

  static async open(config: WebSocketConfig): Promise<WebSocketConnection> {
    const connection = new WebSocketConnection(config);
    await connection.#wire.opened();
    connection.#wire.write(Buffer.from(`${upgrade(`/v2/models/${config.model}/stream`)}\r\n\r\n`));
    await connection.#upgraded.promise;
    return connection;
  }

  send(slot: number): void {
    const frame = this.#frames[slot - this.#config.firstSlot];
    if (frame === undefined) throw new Error(`slot ${slot} is not of this connection`);
    this.#order.push(slot);
    this.#wire.write(frame);
  }

  close(): void {
    this.#wire.close();
  }

  readHead(chunk: Buffer, at: number, end: number): number {
    return this.#isUpgraded ? this.#readFrameHead(chunk, at, end) : this.#readUpgrade(chunk, at);
  }

  onBody(chunk: Buffer, from: number, to: number, left: number): void {
    if (this.#opcode === 0) return;
    this.#body.add(chunk, from, to);
    if (left > 0) return;
    const { bytes, start, end } = this.#body;
    if (this.#opcode === pingFrame) {
      this.#wire.write(masked(pongFrame, Buffer.from(bytes?.subarray(start, end) ?? [])));
      return;
    }
    const slot = this.#order.shift() ?? -1;
    if (this.#opcode === binaryFrame) this.#config.sink.onAnswer(slot, bytes, start, end, 0);
    else this.#config.sink.onFault(slot, `a frame that begins with ${this.#opcode}`);
  }

  #readUpgrade(chunk: Buffer, at: number): number {
    const last = chunk.indexOf(headEnd, at);
    if (last < 0) return 0;
    const status = chunk.toString('latin1', at, last);
    this.#isUpgraded = status.startsWith('HTTP/1.1 101');
    if (this.#isUpgraded) this.#upgraded.resolve();
    else this.#upgraded.reject(new Error(status));
    return last + headEnd.length - at;
  }

  #readFrameHead(chunk: Buffer, at: number, end: number): number {
    if (end - at < 2) return 0;
    const short = (chunk[at + 1] ?? 0) & 0x7f;
    const head = short < 126 ? 2 : short === 126 ? 4 : 10;
    if (end - at < head) return 0;
    this.#opcode = chunk[at] ?? 0;
    this.bodyBytes = short;
    if (short === 126) this.bodyBytes = chunk.readUInt16BE(at + 2);
    if (short === 127) this.bodyBytes = Number(chunk.readBigUInt64BE(at + 2));
    const [next] = this.#order;
    this.#body.begin(this.bodyBytes, next !== undefined && this.#config.sink.isSampled(next));
    return head;
  }
}
