import type { InferenceSession } from 'onnxruntime-node';
import type { SignatureTensor } from '../../streams/inference/backend.ts';
import { type ErrorCode, toInferError } from '../../streams/inference/error.ts';
import type { CarriedDatatype } from './ort-datatypes.ts';

/** The data with which a worker that runs batches starts. */
export interface WorkerStart {
  readonly path: string;
  readonly options: InferenceSession.SessionOptions;
  readonly ports: ModelPorts;
  /** The `SlotMemory` of each slot. */
  readonly slots: readonly SharedArrayBuffer[];
}

/** The tensors of a model that a batch brings and takes, with the model's own shapes: −1 for any size. */
export interface ModelPorts {
  /** Those of a fixed element size first: so their places depend on the shapes alone, never on the length of a string. */
  readonly inputs: readonly InputPort[];
  readonly outputs: readonly OutputPort[];
  /** Whether the first dimension counts rows. */
  readonly batches: boolean;
}

export interface InputPort extends Port {
  /**
   * How a batch brings it: the requests' tensors along dimension 0; all their elements as one dimension; or one tensor of the whole batch, which
   * no request has.
   */
  readonly form: 'rows' | 'ragged' | 'whole';
}

export interface OutputPort extends Port {
  /** The input after whose shapes it is split among the requests; undefined for a row for each of their rows. */
  readonly source: string | undefined;
}

export interface Port extends SignatureTensor {
  readonly datatype: CarriedDatatype;
}

/** A number is a slot whose batch lies ready. */
export type ToWorker = number | { readonly slot: number; readonly inputs: SharedArrayBuffer };

/** A number is a slot whose batch has run, or was left because it was cancelled. */
export type FromWorker =
  | number
  | { readonly kind: 'ready' }
  | NotLoaded
  | { readonly kind: 'outputs'; readonly slot: number; readonly area: number; readonly memory: SharedArrayBuffer }
  | { readonly kind: 'run-failed'; readonly slot: number; readonly message: string };

/** The data with which a worker that describes a model starts, and its one answer. */
export interface DescribeStart {
  readonly path: string;
}

export type DescribeAnswer =
  | { readonly kind: 'described'; readonly inputs: readonly DescribedValue[]; readonly outputs: readonly DescribedValue[] }
  | NotLoaded;

export interface NotLoaded {
  readonly kind: 'not-loaded';
  readonly code: ErrorCode;
  readonly message: string;
}

export const notLoaded = (error: unknown): NotLoaded => {
  const { code, message } = toInferError(error);
  return { kind: 'not-loaded', code, message };
};

/** An input or output: a tensor that can be carried, or why it cannot. */
export type DescribedValue =
  | { readonly name: string; readonly tensor: SignatureTensor }
  | { readonly name: string; readonly tensor: undefined; readonly why: string };
