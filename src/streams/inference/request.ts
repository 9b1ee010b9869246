import type { Demand } from '../flow/demand.ts';
import type { Tensors } from '../tensors/tensor.ts';
import type { Parameters } from './parameters.ts';

export interface RequestedOutput {
  readonly name: string;
  /** How many of the highest values to answer with, as `value:index[:label]` strings (Triton's classification extension); 0 for the tensor itself. */
  readonly classification: number;
}

/** One question to a model: plain data, without closures or sockets, so that it can cross a thread. */
export interface InferRequest {
  readonly modelName: string;
  /** Decimal digits; `''` for the newest version that is ready. */
  readonly modelVersion: string;
  /** The client's own; `''` when it gave none. */
  readonly id: string;
  readonly inputs: Tensors;
  /** Empty for every output of the model. */
  readonly outputs: readonly RequestedOutput[];
  /** What is not one of the reserved names below. */
  readonly parameters: Parameters;
  /** Correlation id; `0n` or `''` for none. */
  readonly sequenceId: bigint | string;
  readonly sequenceStart: boolean;
  readonly sequenceEnd: boolean;
  /** 1 is the most urgent; `0n` for the model's default. */
  readonly priority: bigint;
  /** Microseconds in the queue; `0n` for none. */
  readonly timeoutMicroseconds: bigint;
  /** For a request that a model has made, or an ensemble for its step: who. Absent for a client's. */
  readonly caller?: Caller;
  /** Whether whoever asks has room for another answer: a model that answers many times and can wait waits while it is closed. Absent for always. */
  readonly demand?: Demand | undefined;
  /** Where each execution that answers it adds its time, for whoever asks on behalf of another. */
  readonly spent?: ComputeTimes | undefined;
}

/** Fractional milliseconds. */
export interface ComputeTimes {
  inputMs: number;
  inferMs: number;
  outputMs: number;
}

/** A model that waits for the answer to a request of its own, and who waits for it. */
export interface Caller {
  readonly modelName: string;
  readonly caller: Caller | undefined;
}
