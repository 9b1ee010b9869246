import type { Shape } from '../../streams/tensors/shape.ts';
import type { StepWaits } from './wait-order.ts';

/**
 * What becomes of a shape where only one side of a wire batches. `add`: the taker batches, so a tensor of its very dimensions becomes a batch of one. `strip`:
 * it does not, so a batch of one that is not of its dimensions loses its first.
 */
export type BatchFit = 'as-is' | 'add' | 'strip';

/** One end of a wire: where its tensors go to. */
export interface GraphTap {
  /** What the taker calls the tensor: an input of a step's model, or an output of the ensemble. */
  readonly name: string;
  /** Index in `EnsembleGraph.wires`. */
  readonly wire: number;
  readonly fit: BatchFit;
  /** As the taker has them, without its batch dimension; −1 for any size. */
  readonly dims: Shape;
}

/** A tensor of the ensemble. */
export interface GraphWire {
  readonly name: string;
  /** Rows of which branch it belongs to: 0 the request's own one, others those that a step begins which answers many times. */
  readonly branch: number;
  /** Its number among those of its branch. */
  readonly slot: number;
}

export interface GraphStep {
  readonly index: number;
  readonly modelName: string;
  /** Decimal digits; `''` for the newest version that is ready. */
  readonly modelVersion: string;
  readonly inputs: readonly GraphTap[];
  /** Model's own name, and the wire that it writes. */
  readonly outputs: readonly { readonly name: string; readonly wire: number }[];
  /** Outputs of the model, wired or not. */
  readonly modelOutputs: readonly string[];
  /** Of its inputs. */
  readonly branch: number;
  /** Of its outputs: another one where it answers many times. */
  readonly outputBranch: number;
  readonly waits: StepWaits;
}

/**
 * An ensemble, compiled and checked: acyclic, one writer for each wire, all inputs of a step of one branch, all outputs of the ensemble too. Steps
 * stand behind those whose wires they take.
 */
export interface EnsembleGraph {
  readonly name: string;
  readonly version: string;
  /** 0 when the ensemble has no batch dimension. */
  readonly maxBatchSize: number;
  readonly wires: readonly GraphWire[];
  /** How many wires each branch has. */
  readonly branchSizes: readonly number[];
  /** Ensemble input, and its wire. */
  readonly inputs: readonly { readonly name: string; readonly wire: number }[];
  readonly outputs: readonly GraphTap[];
  readonly steps: readonly GraphStep[];
  /** For each step, of all requests together; 0 for any number. */
  readonly maxInflightRequests: number;
}

/** Whether it may answer a request any number of times. */
export const answersMany = ({ branchSizes }: EnsembleGraph): boolean => branchSizes.length > 1;
