import type { ParameterValue } from '../../streams/inference/parameters.ts';
import type { Datatype } from '../../streams/tensors/datatype.ts';
import type { GivenParameters } from './given-parameters.ts';
import type { ModelRequest } from './model-request.ts';
import type { MadeTensor, ModelTensor } from './model-tensor.ts';

/** A request of a model to another one. */
export interface ModelCall {
  readonly model: string;
  /** Decimal digits; the newest that is ready where it is left out. */
  readonly version?: string | undefined;
  /** Copied before the call returns. Each needs its datatype. */
  readonly inputs: Readonly<Record<string, MadeTensor | ModelTensor>>;
  /** All where it is left out. */
  readonly outputs?: readonly string[] | undefined;
  readonly parameters?: GivenParameters | undefined;
  /** The id of the request that it is made for, where it is left out. */
  readonly id?: string | undefined;
  readonly sequenceId?: bigint | number | string | undefined;
  readonly sequenceStart?: boolean | undefined;
  readonly sequenceEnd?: boolean | undefined;
  readonly priority?: bigint | number | undefined;
  readonly timeoutMicroseconds?: bigint | number | undefined;
}

export interface CallOptions {
  /**
   * The request that it is made for: it gives its id, and when its caller goes the call is cancelled. Left out, the call is made for the whole
   * execution, and is cancelled when nobody waits for that any more.
   */
  readonly request?: ModelRequest | undefined;
  /** Cancels the call. */
  readonly signal?: AbortSignal | undefined;
}

/** An answer of a model that was called. Its tensors are the caller's own. */
export interface CallAnswer {
  readonly modelName: string;
  readonly modelVersion: string;
  readonly id: string;
  readonly parameters: ReadonlyMap<string, ParameterValue>;
  readonly outputNames: readonly string[];
  readonly isLast: boolean;
  /** @throws ModelError when the answer does not have it, or it has another datatype */
  output<D extends Datatype>(name: string, datatype?: D): ModelTensor<D>;
}
