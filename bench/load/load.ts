export type Protocol = 'grpc-unary' | 'grpc-stream' | 'websocket' | 'http';

/** An FP32 tensor of a question or an answer. */
export interface TensorShape {
  readonly name: string;
  readonly shape: readonly number[];
}

export interface Question {
  readonly model: string;
  readonly inputs: readonly TensorShape[];
  readonly outputs: readonly TensorShape[];
  /** Whether output i has the bytes of input i. */
  readonly isIdentity: boolean;
}

/** Everything that one load needs: plain data, since it goes to a process of its own. */
export interface Load {
  readonly protocol: Protocol;
  readonly port: number;
  /** A model answers by the protocol; an echo sends back what it got, but for HTTP, where it answers with the tensors behind a fixed head. */
  readonly answeredBy: 'model' | 'echo';
  readonly question: Question;
  readonly connections: number;
  /** Requests in flight on each connection; 1 for HTTP. */
  readonly perConnection: number;
  /** gRPC streams that these share; for `grpc-stream` alone. */
  readonly streamsPerConnection: number;
  readonly warmUpMs: number;
  readonly measureMs: number;
  /** Whose processor time is taken. */
  readonly serverPid: number;
  /** The core that the server has to itself; −1 for none. */
  readonly serverCore: number;
}

/** What happened in the measured time. Shares are parts of one core. */
export interface LoadResult {
  readonly answered: number;
  /** Of all requests, also outside of the measured time. */
  readonly failed: number;
  /** Requests that had no answer long after the end. */
  readonly hung: number;
  /** The first thing that went wrong; `''` for nothing. */
  readonly fault: string;
  readonly seconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly serverCpuUs: number;
  readonly generatorShare: number;
  /** What else ran on the server's core. */
  readonly otherShare: number;
}
