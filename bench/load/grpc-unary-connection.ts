import type { AnswerSink, Connection } from './connection.ts';
import { callHeaders, grpcStatusIn, messageFrame } from './http2/grpc-headers.ts';
import { Http2Session, type StreamEvents } from './http2/http2-session.ts';
import { MessageReader } from './http2/message-reader.ts';

/** One call at a time, again and again. */
class UnarySlot implements StreamEvents {
  readonly headers = callHeaders('ModelInfer');
  readonly frame: Buffer;
  readonly #slot: number;
  readonly #sink: AnswerSink;
  readonly #reader: MessageReader;
  #answer: Buffer | undefined;
  #length = -1;
  #status = 'none';

  constructor(slot: number, message: Buffer, sink: AnswerSink) {
    this.#slot = slot;
    this.#sink = sink;
    this.frame = messageFrame(message);
    this.#reader = new MessageReader(() => sink.isSampled(slot), this.#onMessage);
  }

  onData(bytes: Buffer, start: number, end: number): void {
    this.#reader.push(bytes, start, end);
  }

  onHeaders(block: Buffer, isLast: boolean): void {
    if (isLast) this.#status = grpcStatusIn(block);
  }

  onEnd(): void {
    const [answer, length, status] = [this.#answer, this.#length, this.#status];
    this.#answer = undefined;
    this.#length = -1;
    this.#status = 'none';
    if (status !== '0') this.#sink.onFault(this.#slot, `grpc-status ${status}`);
    else if (length < 0) this.#sink.onFault(this.#slot, 'a call without a message');
    else this.#sink.onAnswer(this.#slot, answer, 0, length, 0);
  }

  onReset(code: number): void {
    this.#sink.onFault(this.#slot, `the server reset a stream (${code})`);
  }

  // Copied, since trailers may come in a later read.
  readonly #onMessage = (): void => {
    const { bytes, start, end } = this.#reader.body;
    this.#answer = bytes === undefined ? undefined : Buffer.from(bytes.subarray(start, end));
    this.#length = end - start;
  };
}

/** Unary calls over one connection. */
export class GrpcUnaryConnection implements Connection {
  readonly #session: Http2Session;
  readonly #firstSlot: number;
  readonly #slots: readonly UnarySlot[];

  private constructor(session: Http2Session, firstSlot: number, messages: readonly Buffer[], sink: AnswerSink) {
    this.#session = session;
    this.#firstSlot = firstSlot;
    this.#slots = messages.map((message, index) => new UnarySlot(firstSlot + index, message, sink));
  }

  static async open(port: number, firstSlot: number, messages: readonly Buffer[], sink: AnswerSink): Promise<GrpcUnaryConnection> {
    const session = await Http2Session.open(port, (why) => sink.onLost(why));
    return new GrpcUnaryConnection(session, firstSlot, messages, sink);
  }

  send(slot: number): void {
    const call = this.#slots[slot - this.#firstSlot];
    if (call === undefined) throw new Error(`slot ${slot} is not of this connection`);
    const id = this.#session.request(call.headers, call);
    this.#session.send(id, call.frame, true);
  }

  close(): void {
    this.#session.close();
  }
}
