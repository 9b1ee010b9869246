import type { GivenParameters } from './given-parameters.ts';
import type { ModelError } from './model-module.ts';
import type { ModelRequest } from './model-request.ts';
import type { MadeTensor, ModelTensor } from './model-tensor.ts';

/** What a model answers a request with. */
export interface ModelResponse {
  readonly outputs?: Readonly<Record<string, MadeTensor | ModelTensor>> | undefined;
  /** Numbers reach clients as doubles, bigints as 64-bit integers. */
  readonly parameters?: GivenParameters | undefined;
  /** For an iterative sequence: the request is to run again as its next step. Outputs, if any, are an answer. */
  readonly reschedule?: boolean | undefined;
}

/** One of many answers, as a generator yields them. */
export interface ModelAnswer extends ModelResponse {
  /** Whom it answers; may be left out where the execution has one request. */
  readonly request?: ModelRequest | undefined;
  /** No other answer to this request follows. Left out, the end of the generator says so. */
  readonly isLast?: boolean | undefined;
  /** An answer that has failed, in its place; without outputs. */
  readonly error?: ModelError | undefined;
}

/** An answer for each request, in their order. `undefined` for none, which only a decoupled model may give. */
export type ModelResponses = readonly (ModelResponse | ModelError | undefined)[];

export type Execution =
  | ModelResponses
  | undefined
  | Promise<ModelResponses | undefined>
  | AsyncIterable<ModelAnswer>
  | Generator<ModelAnswer>;
