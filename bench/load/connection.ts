/** One connection under load; its slots are numbered over all connections. At most one request of a slot is in flight. */
export interface Connection {
  send(slot: number): void;
  close(): void;
}

/** Whom a connection tells about answers. */
export interface AnswerSink {
  /** Whether the coming answer of a slot will be read in full, and so is wanted in one piece. */
  isSampled(slot: number): boolean;
  /** A good status and `bytes` from `start` to `end`; `bytes` is undefined for one that was only counted. `jsonBytes` is HTTP's header length. */
  onAnswer(slot: number, bytes: Buffer | undefined, start: number, end: number, jsonBytes: number): void;
  /** In place of an answer. */
  onFault(slot: number, what: string): void;
  /** The connection is gone, and with it whatever is in flight on it. */
  onLost(what: string): void;
}
