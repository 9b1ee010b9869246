import type { EnsembleStep } from '../../streams/inference/model-spec.ts';
import { orderSteps } from './order-steps.ts';

export interface BranchesConfig {
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly steps: readonly EnsembleStep[];
  /** By step: whether its model answers a request any number of times. */
  readonly isDecoupled: readonly boolean[];
}

export interface Branches {
  /** By tensor: 0 for what there is once for each request, another number for each step that answers many times. */
  readonly ofTensor: ReadonlyMap<string, number>;
  readonly count: number;
  /** Steps whose inputs are of several branches. */
  readonly mixedSteps: readonly number[];
  readonly hasMixedOutputs: boolean;
}

/** To which rows each tensor of an ensemble belongs: outputs of a step that answers many times begin a branch, others stay in that of the step's inputs. */
export const findBranches = ({ inputs, outputs, steps, isDecoupled }: BranchesConfig): Branches => {
  const ofTensor = new Map(inputs.map((name) => [name, 0]));
  const mixedSteps: number[] = [];
  let count = 1;
  const branchesOf = (tensors: Iterable<string>): ReadonlySet<number> => new Set([...tensors].map((tensor) => ofTensor.get(tensor) ?? 0));
  for (const index of orderSteps(inputs, steps)) {
    const step = steps[index];
    if (step === undefined) continue;
    const [branch = 0, ...others] = branchesOf(step.inputs.values());
    if (others.length > 0) mixedSteps.push(index);
    const own = isDecoupled[index] ? count++ : branch;
    for (const tensor of step.outputs.values()) ofTensor.set(tensor, own);
  }
  return { ofTensor, count, mixedSteps: mixedSteps.toSorted((a, b) => a - b), hasMixedOutputs: branchesOf(outputs).size > 1 };
};
