import type { Observable } from 'rxjs';
import type { Datatype } from '../tensors/datatype.ts';
import type { Shape } from '../tensors/shape.ts';
import type { Tensors } from '../tensors/tensor.ts';
import type { InferError } from './error.ts';
import type { InstanceKind, ModelConfigDocument, ModelSpec, ResourceDemand } from './model-spec.ts';
import type { Parameters } from './parameters.ts';
import type { InferRequest } from './request.ts';

/** Where a model version lies on disk. All paths are absolute. */
export interface ModelFiles {
  readonly modelName: string;
  readonly modelDirectory: string;
  readonly versionDirectory: string;
  /** `default_model_filename` inside the version directory; `''` for a backend without files. */
  readonly modelFile: string;
}

export interface SignatureTensor {
  readonly name: string;
  readonly datatype: Datatype;
  /** As the model itself has it, batch dimension included; −1 for any size. */
  readonly shape: Shape;
}

/** What the model's own file says. */
export interface ModelSignature {
  readonly inputs: readonly SignatureTensor[];
  readonly outputs: readonly SignatureTensor[];
}

/** Where one instance is to run. */
export interface Placement {
  /** `M_0`, `M_0_1`: the group's name and the instance's number. */
  readonly name: string;
  readonly kind: InstanceKind;
  /** The GPU's number; 0 elsewhere. */
  readonly device: number;
  /** Loaded, and given no requests. */
  readonly isPassive: boolean;
  readonly resources: readonly ResourceDemand[];
  /** 2 gets half the turns of 1; at least 1. */
  readonly priority: number;
}

/** Runs models of one kind. */
export interface Backend {
  readonly name: string;
  /** Whether a model must have a file in its version directory. */
  readonly needsModelFile: boolean;
  /** Whether it makes one tensor of a batch's tensors: then unequal shapes cannot share an execution unless they are ragged or padded. */
  readonly gathers: boolean;
  /** Whether its instances leave `Batch.wholeInputs` unread; they read them where it is left out. */
  readonly ignoresWholeInputs?: boolean;
  /** Whether its models may be decoupled: answer a request many times, or not at all. */
  readonly answersMany: boolean;
  /** Lets the model's own code complete its config (Triton's `auto_complete_config`); rejects with an InferError. */
  completeConfig?(files: ModelFiles, config: ModelConfigDocument): Promise<ModelConfigDocument>;
  /** Reads the model's own inputs and outputs; undefined when only the config knows them. Rejects with an InferError. */
  describe(files: ModelFiles): Promise<ModelSignature | undefined>;
  /**
   * One life of an instance: emits it once, when it is ready, and stays open while it lives. Errors when it cannot start or has died;
   * unsubscribing ends it and frees what it holds.
   */
  open(files: ModelFiles, spec: ModelSpec, placement: Placement): Observable<Instance>;
}

export interface Instance {
  /** Batches that it takes at once: more than one hides the way to a worker and back. */
  readonly capacity: number;
  /**
   * Runs a batch. A part answers one of its requests; a decoupled model answers with many parts or none. Parts' tensors are valid during
   * `next()`. An error fails every request of the batch that has had no last part. Unsubscribing cancels the batch.
   */
  run(batch: Batch): Observable<Part>;
  /** Whether the model's own code says that it can work; absent where it has no say. Never throws, and answers at once. */
  isReady?(): boolean;
}

export interface Batch {
  /** Checked requests whose shapes are the model's own: after `reshape`, batch dimension included. */
  readonly requests: readonly InferRequest[];
  /** Rows of each request; 1 for a model without batch dimension. */
  readonly rows: readonly number[];
  readonly totalRows: number;
  /** Tensors of the whole batch, which no request has: `batch_input` of the config. */
  readonly wholeInputs: Tensors;
  readonly times: BatchTimes;
  /** Set by an instance that can stop a request of its own: called once for each whose caller has gone, with its index in `requests`. */
  onCancelled?: ((of: number) => void) | undefined;
  /** Called by an instance that can take another batch though answers of this one are still to come. Once is enough. */
  readonly releaseInstance?: () => void;
}

/** Written by the instance, in milliseconds of `performance.now()`; what it leaves at 0 counts as no time. */
export interface BatchTimes {
  /** The inputs are where the model reads them. */
  inputEndMs: number;
  /** The model has run. */
  outputStartMs: number;
}

export interface Part {
  /** Index in `Batch.requests`. */
  readonly of: number;
  /** Shapes are the model's own, batch dimension included. */
  readonly outputs: Tensors;
  readonly parameters: Parameters;
  readonly isLast: boolean;
  /** With `isLast`, of an iterative sequence: its request is to run again as the next step. Its outputs, if any, are an answer. */
  readonly isRescheduled?: boolean;
  /** The request failed; the rest of the batch did not. Its outputs are empty. */
  readonly error: InferError | undefined;
}
