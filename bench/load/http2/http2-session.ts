import { FrameReader, type Framing } from '../frame-reader.ts';
import { Wire } from '../wire.ts';
import {
  ACK,
  DATA,
  END_HEADERS,
  END_STREAM,
  GOAWAY,
  HEADERS,
  headBytes,
  makeFrame,
  PING,
  preface,
  RST_STREAM,
  SETTINGS,
  settings,
  WINDOW_UPDATE,
  windowUpdate,
  writeHead,
} from './frames.ts';

/** The windows that a client of gRPC's C core announces. */
const streamWindow = 4 * 2 ** 20;
const sessionWindow = 4 * streamWindow;
const largestFrame = 2 ** 22 - 1;
const firstWindow = 65535;
const firstFrameBytes = 16384;

/** One stream, as the session sees it. */
export interface StreamEvents {
  onData(bytes: Buffer, start: number, end: number): void;
  /** A block of headers, compressed as HPACK has it. */
  onHeaders(block: Buffer, isLast: boolean): void;
  onEnd(): void;
  onReset(code: number): void;
}

/** How much a stream may still send and has received. */
interface OpenStream {
  readonly id: number;
  readonly events: StreamEvents;
  window: number;
  received: number;
}

interface Sending {
  readonly stream: OpenStream;
  readonly bytes: Buffer;
  at: number;
  readonly isLast: boolean;
}

/** A client's side of one HTTP/2 connection, with what gRPC needs of it and as little work as will do. */
export class Http2Session implements Framing {
  bodyBytes = 0;
  readonly #wire: Wire;
  readonly #reader = new FrameReader(this);
  readonly #onLost: (why: string) => void;
  readonly #streams = new Map<number, OpenStream>();
  readonly #ready = Promise.withResolvers<void>();
  #sending: Sending[] = [];
  #nextId = 1;
  #window = firstWindow;
  #streamWindow = firstWindow;
  #frameBytes = firstFrameBytes;
  #received = 0;
  #type = 0;
  #flags = 0;
  #streamId = 0;
  #payload: Buffer[] = [];

  private constructor(port: number, onLost: (why: string) => void) {
    this.#onLost = onLost;
    this.#wire = new Wire(port, {
      onBytes: (bytes) => this.#reader.push(bytes),
      onLost: (why) => {
        this.#ready.reject(new Error(why));
        onLost(why);
      },
    });
  }

  /** Resolves when the server's settings have come. */
  static async open(port: number, onLost: (why: string) => void): Promise<Http2Session> {
    const session = new Http2Session(port, onLost);
    await session.#wire.opened();
    session.#wire.write(Buffer.concat([preface, settings(streamWindow, largestFrame), windowUpdate(0, sessionWindow - firstWindow)]));
    await session.#ready.promise;
    return session;
  }

  /** Begins a stream. `headers` is a HEADERS frame with END_HEADERS, whose stream is filled in here; it must not wait for another use. */
  request(headers: Buffer, events: StreamEvents): number {
    const id = this.#nextId;
    this.#nextId += 2;
    this.#streams.set(id, { id, events, window: this.#streamWindow, received: 0 });
    headers.writeUInt32BE(id, 5);
    this.#wire.write(headers);
    return id;
  }

  /** Sends the payload of a DATA frame whose head is filled in here: as it is where windows allow, else in pieces. */
  send(id: number, frame: Buffer, isLast: boolean): void {
    const stream = this.#streams.get(id);
    if (stream === undefined) return;
    const length = frame.length - headBytes;
    if (this.#sending.length === 0 && length <= this.#frameBytes && length <= stream.window && length <= this.#window) {
      writeHead(frame, length, DATA, isLast ? END_STREAM : 0, id);
      stream.window -= length;
      this.#window -= length;
      this.#wire.write(frame);
      return;
    }
    this.#sending.push({ stream, bytes: frame, at: headBytes, isLast });
    this.#sendPieces();
  }

  close(): void {
    this.#wire.close();
  }

  readHead(chunk: Buffer, at: number, end: number): number {
    if (end - at < headBytes) return 0;
    this.bodyBytes = chunk.readUIntBE(at, 3);
    this.#type = chunk[at + 3] ?? 0;
    this.#flags = chunk[at + 4] ?? 0;
    this.#streamId = chunk.readUInt32BE(at + 5) & 0x7fffffff;
    return headBytes;
  }

  onBody(chunk: Buffer, start: number, end: number, left: number): void {
    if (this.#type === DATA) {
      this.#onData(chunk, start, end, left);
      return;
    }
    if (left > 0 || this.#payload.length > 0) {
      this.#payload.push(Buffer.from(chunk.subarray(start, end)));
      if (left > 0) return;
      const whole = Buffer.concat(this.#payload);
      this.#payload = [];
      this.#onFrame(whole);
    } else this.#onFrame(chunk.subarray(start, end));
  }

  #onData(chunk: Buffer, start: number, end: number, left: number): void {
    this.#received += end - start;
    if (this.#received > streamWindow) {
      this.#wire.write(windowUpdate(0, this.#received));
      this.#received = 0;
    }
    const stream = this.#streams.get(this.#streamId);
    if (stream === undefined) return;
    const isEnd = left === 0 && (this.#flags & END_STREAM) !== 0;
    stream.received += end - start;
    if (!isEnd && stream.received > streamWindow / 4) {
      this.#wire.write(windowUpdate(stream.id, stream.received));
      stream.received = 0;
    }
    stream.events.onData(chunk, start, end);
    if (isEnd) this.#end(stream);
  }

  #onFrame(payload: Buffer): void {
    const stream = this.#streams.get(this.#streamId);
    const isLast = (this.#flags & END_STREAM) !== 0;
    if (this.#type === HEADERS) {
      if ((this.#flags & END_HEADERS) === 0) this.#onLost('headers in several frames, which this client cannot read');
      stream?.events.onHeaders(payload, isLast);
      if (isLast && stream !== undefined) this.#end(stream);
    } else if (this.#type === WINDOW_UPDATE) this.#onWindow(payload.readUInt32BE(0) & 0x7fffffff, stream);
    else if (this.#type === SETTINGS) this.#onSettings(payload);
    else if (this.#type === PING && (this.#flags & ACK) === 0) this.#wire.write(makeFrame(PING, ACK, 0, payload));
    else if (this.#type === RST_STREAM && stream !== undefined) {
      this.#streams.delete(stream.id);
      this.#sending = this.#sending.filter((sending) => sending.stream !== stream);
      stream.events.onReset(payload.readUInt32BE(0));
    } else if (this.#type === GOAWAY) this.#onLost(`the server says goodbye (${payload.readUInt32BE(4)} ${payload.toString('latin1', 8)})`);
  }

  #end(stream: OpenStream): void {
    this.#streams.delete(stream.id);
    stream.events.onEnd();
  }

  #onWindow(bytes: number, stream: OpenStream | undefined): void {
    if (this.#streamId === 0) this.#window += bytes;
    else if (stream !== undefined) stream.window += bytes;
    this.#sendPieces();
  }

  #onSettings(payload: Buffer): void {
    if ((this.#flags & ACK) !== 0) return;
    for (let at = 0; at + 6 <= payload.length; at += 6) {
      const [id, value] = [payload.readUInt16BE(at), payload.readUInt32BE(at + 2)];
      if (id === 5) this.#frameBytes = value;
      if (id !== 4) continue;
      for (const stream of this.#streams.values()) stream.window += value - this.#streamWindow;
      this.#streamWindow = value;
    }
    this.#wire.write(makeFrame(SETTINGS, ACK, 0, Buffer.alloc(0)));
    this.#ready.resolve();
    this.#sendPieces();
  }

  #sendPieces(): void {
    if (this.#sending.length === 0) return;
    for (const sending of this.#sending) this.#sendPiecesOf(sending);
    this.#sending = this.#sending.filter(({ at, bytes }) => at < bytes.length);
  }

  #sendPiecesOf(sending: Sending): void {
    const { stream, bytes, isLast } = sending;
    while (sending.at < bytes.length) {
      const length = Math.min(bytes.length - sending.at, this.#frameBytes, stream.window, this.#window);
      if (length <= 0) return;
      const end = sending.at + length;
      const head = Buffer.allocUnsafe(headBytes);
      writeHead(head, length, DATA, isLast && end === bytes.length ? END_STREAM : 0, stream.id);
      this.#wire.write(head);
      this.#wire.write(bytes.subarray(sending.at, end));
      sending.at = end;
      stream.window -= length;
      this.#window -= length;
    }
  }
}
