import type { AnswerSink, Connection } from './connection.ts';
import { callHeaders, grpcStatusIn, messageFrame } from './http2/grpc-headers.ts';
import { Http2Session, type StreamEvents } from './http2/http2-session.ts';
import { MessageReader } from './http2/message-reader.ts';

/** One bidirectional stream; answers come in the order of the requests, which full checks verify. */
class InferStream implements StreamEvents {
  readonly #session: Http2Session;
  readonly #sink: AnswerSink;
  readonly #id: number;
  readonly #reader: MessageReader;
  readonly #order: number[] = [];

  constructor(session: Http2Session, sink: AnswerSink) {
    this.#session = session;
    this.#sink = sink;
    this.#reader = new MessageReader(() => this.#order[0] !== undefined && sink.isSampled(this.#order[0]), this.#onMessage);
    this.#id = session.request(callHeaders('ModelStreamInfer'), this);
  }

  send(slot: number, frame: Buffer): void {
    this.#order.push(slot);
    this.#session.send(this.#id, frame, false);
  }

  onData(bytes: Buffer, start: number, end: number): void {
    this.#reader.push(bytes, start, end);
  }

  onHeaders(block: Buffer, isLast: boolean): void {
    if (isLast) this.#sink.onLost(`a stream ended with grpc-status ${grpcStatusIn(block)}`);
  }

  onEnd(): void {
    // Its last headers have said so.
  }

  onReset(code: number): void {
    this.#sink.onLost(`the server reset a stream (${code})`);
  }

  readonly #onMessage = (): void => {
    const { bytes, start, end } = this.#reader.body;
    const slot = this.#order.shift();
    if (slot === undefined) this.#sink.onLost('an answer that nobody asked for');
    else this.#sink.onAnswer(slot, bytes, start, end, 0);
  };
}

/** Bidirectional streams over one connection; its slots are spread over them. */
export class GrpcStreamConnection implements Connection {
  readonly #session: Http2Session;
  readonly #firstSlot: number;
  readonly #frames: readonly Buffer[];
  readonly #streams: readonly InferStream[];

  private constructor(session: Http2Session, firstSlot: number, frames: readonly Buffer[], streams: readonly InferStream[]) {
    this.#session = session;
    this.#firstSlot = firstSlot;
    this.#frames = frames;
    this.#streams = streams;
  }

  static async open(
    port: number,
    firstSlot: number,
    messages: readonly Buffer[],
    streams: number,
    sink: AnswerSink,
  ): Promise<GrpcStreamConnection> {
    const session = await Http2Session.open(port, (why) => sink.onLost(why));
    const open = Array.from({ length: streams }, () => new InferStream(session, sink));
    return new GrpcStreamConnection(session, firstSlot, messages.map(messageFrame), open);
  }

  send(slot: number): void {
    const index = slot - this.#firstSlot;
    const frame = this.#frames[index];
    const stream = this.#streams[index % this.#streams.length];
    if (frame === undefined || stream === undefined) throw new Error(`slot ${slot} is not of this connection`);
    stream.send(slot, frame);
  }

  close(): void {
    this.#session.close();
  }
}
