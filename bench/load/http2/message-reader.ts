import { BodyCollector } from '../body-collector.ts';
import { FrameReader, type Framing } from '../frame-reader.ts';

const headBytes = 5;

/** Cuts the data of a gRPC stream into messages. */
export class MessageReader implements Framing {
  bodyBytes = 0;
  /** The message that has come last. */
  readonly body = new BodyCollector();
  readonly #reader = new FrameReader(this);
  readonly #isWanted: () => boolean;
  readonly #onMessage: () => void;

  constructor(isWanted: () => boolean, onMessage: () => void) {
    this.#isWanted = isWanted;
    this.#onMessage = onMessage;
  }

  push(bytes: Buffer, start: number, end: number): void {
    this.#reader.push(bytes, start, end);
  }

  readHead(chunk: Buffer, at: number, end: number): number {
    if (end - at < headBytes) return 0;
    this.bodyBytes = chunk.readUInt32BE(at + 1);
    this.body.begin(this.bodyBytes, this.#isWanted());
    return headBytes;
  }

  onBody(chunk: Buffer, start: number, end: number, left: number): void {
    this.body.add(chunk, start, end);
    if (left === 0) this.#onMessage();
  }
}
