import { BodyCollector } from './body-collector.ts';
import type { AnswerSink, Connection } from './connection.ts';
import { FrameReader, type Framing } from './frame-reader.ts';
import { Wire } from './wire.ts';

const headEnd = Buffer.from('\r\n\r\n');

const numberIn = (head: string, pattern: RegExp): number => Number(pattern.exec(head)?.[1] ?? 0);

/** One connection of HTTP/1.1 for one slot: requests are whole ones, answers have a length. */
export class HttpConnection implements Connection, Framing {
  bodyBytes = 0;
  readonly #slot: number;
  readonly #request: Buffer;
  readonly #sink: AnswerSink;
  readonly #wire: Wire;
  readonly #reader = new FrameReader(this);
  readonly #body = new BodyCollector();
  #status = 0;
  #jsonBytes = 0;

  private constructor(port: number, slot: number, request: Buffer, sink: AnswerSink) {
    this.#slot = slot;
    this.#request = request;
    this.#sink = sink;
    this.#wire = new Wire(port, { onBytes: (bytes) => this.#reader.push(bytes), onLost: (why) => sink.onLost(why) });
  }

  static async open(port: number, slot: number, request: Buffer, sink: AnswerSink): Promise<HttpConnection> {
    const connection = new HttpConnection(port, slot, request, sink);
    await connection.#wire.opened();
    return connection;
  }

  send(): void {
    this.#wire.write(this.#request);
  }

  close(): void {
    this.#wire.close();
  }

  readHead(chunk: Buffer, at: number, end: number): number {
    const last = chunk.indexOf(headEnd, at);
    if (last < 0 || last + headEnd.length > end) return 0;
    const head = chunk.toString('latin1', at, last);
    this.#status = Number(head.slice(9, 12));
    this.#jsonBytes = numberIn(head, /inference-header-content-length: (\d+)/i);
    this.bodyBytes = numberIn(head, /^content-length: (\d+)/im);
    this.#body.begin(this.bodyBytes, this.#status !== 200 || this.#sink.isSampled(this.#slot));
    return last + headEnd.length - at;
  }

  onBody(chunk: Buffer, from: number, to: number, left: number): void {
    this.#body.add(chunk, from, to);
    if (left > 0) return;
    const { bytes, start, end } = this.#body;
    if (this.#status === 200) this.#sink.onAnswer(this.#slot, bytes, start, end, this.#jsonBytes);
    else this.#sink.onFault(this.#slot, `status ${this.#status}: ${bytes?.toString('utf8', start, Math.min(end, start + 300))}`);
  }
}
