/** How one protocol cuts a stream of bytes into heads and bodies. */
export interface Framing {
  /** Bytes of the head that begins at `at`, and then `bodyBytes` is its body's; 0 while the head is not complete. */
  readHead(chunk: Buffer, at: number, end: number): number;
  readonly bodyBytes: number;
  /** One piece of the body; `left` bytes of it are to come. Called once for an empty body. The piece is valid until it returns. */
  onBody(chunk: Buffer, start: number, end: number, left: number): void;
}

/** Cuts a stream of bytes as its framing says, copying nothing but heads that come in two pieces. */
export class FrameReader {
  readonly #framing: Framing;
  #cutHead: Buffer | undefined;
  /** Of the body that has begun. */
  #left = 0;

  constructor(framing: Framing) {
    this.#framing = framing;
  }

  push(piece: Buffer, from = 0, to = piece.length): void {
    if (this.#cutHead === undefined) {
      this.#read(piece, from, to);
      return;
    }
    const joined = Buffer.concat([this.#cutHead, piece.subarray(from, to)]);
    this.#cutHead = undefined;
    this.#read(joined, 0, joined.length);
  }

  #read(chunk: Buffer, from: number, end: number): void {
    let at = from;
    while (at < end) {
      if (this.#left === 0) {
        const headBytes = this.#framing.readHead(chunk, at, end);
        if (headBytes === 0) {
          this.#cutHead = Buffer.from(chunk.subarray(at, end));
          return;
        }
        at += headBytes;
        this.#left = this.#framing.bodyBytes;
        if (this.#left > 0 && at === end) return;
      }
      const bodyEnd = Math.min(end, at + this.#left);
      this.#left -= bodyEnd - at;
      const start = at;
      at = bodyEnd;
      this.#framing.onBody(chunk, start, bodyEnd, this.#left);
    }
  }
}
