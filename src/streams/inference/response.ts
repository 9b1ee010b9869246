import type { Tensors } from '../tensors/tensor.ts';
import type { InferError } from './error.ts';
import type { Parameters } from './parameters.ts';

/**
 * One answer. Its tensors may be views of memory that the next batch overwrites: read them inside `next()`, or copy them.
 */
export interface InferResponse {
  readonly modelName: string;
  /** The version that ran, in decimal digits. */
  readonly modelVersion: string;
  readonly id: string;
  readonly parameters: Parameters;
  readonly outputs: Tensors;
  /** True when its producer knows that no other follows; `complete` says so in any case. */
  readonly isLast: boolean;
  /** An answer of a decoupled model that has failed, while others may follow. Its outputs are empty. */
  readonly error?: InferError | undefined;
}
