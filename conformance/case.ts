/** One question that both servers are asked. Names tell what is asked, and the table of kept differences refers to them. */
export type Case = HttpCase | CallCase | StreamCase;

interface Named {
  readonly name: string;
  /** Paths in the answer whose values may differ as long as their types agree: times, counts of time, versions. A regular expression. */
  readonly varies?: RegExp;
}

export interface HttpCase extends Named {
  readonly kind: 'http';
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

/** A unary call; `request` in protobuf's JSON-like form with snake_case names. */
export interface CallCase extends Named {
  readonly kind: 'call';
  readonly rpc: string;
  readonly request: object;
}

/** Requests that go down one `ModelStreamInfer` back to back; the answers are compared in order. */
export interface StreamCase extends Named {
  readonly kind: 'stream';
  readonly requests: readonly object[];
  readonly metadata?: Readonly<Record<string, string>>;
}

/** Plain data: what came back, ready to be compared. */
export type Outcome = Readonly<Record<string, unknown>>;
