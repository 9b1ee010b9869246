import { type JoinPlan, joinPlan } from '../../streams/flow/join-row.ts';
import type { RequestedOutput } from '../../streams/inference/request.ts';
import type { EnsembleGraph, GraphStep, GraphTap } from './ensemble-graph.ts';

/** A tap, and where its wire stands in its branch. */
export interface SlotTap extends GraphTap {
  readonly slot: number;
}

/** A step that a request needs. */
export interface StepPlan {
  readonly step: GraphStep;
  /** Among the joints of its branch. */
  readonly joint: number;
  readonly inputs: readonly SlotTap[];
  /** Of the model, those that somebody takes. */
  readonly outputs: readonly { readonly name: string; readonly slot: number }[];
  /** What to ask the model for; empty for all of its outputs. */
  readonly requested: readonly RequestedOutput[];
}

export interface BranchPlan {
  readonly join: JoinPlan;
  /** Steps by joint; undefined for the answer of the ensemble. */
  readonly joints: readonly (StepPlan | undefined)[];
}

/** What is to be done for a request that asks for these outputs. */
export interface RunPlan {
  readonly outputs: readonly SlotTap[];
  /** In the order of the graph. */
  readonly steps: readonly StepPlan[];
  /** By branch; one without needed steps has no joints. */
  readonly branches: readonly BranchPlan[];
  readonly answerBranch: number;
  readonly inputs: readonly { readonly name: string; readonly slot: number }[];
}

/** Steps without which the wanted outputs cannot be. */
const neededSteps = ({ steps }: EnsembleGraph, wanted: readonly GraphTap[]): readonly GraphStep[] => {
  const wires = new Set(wanted.map(({ wire }) => wire));
  const needed = steps.toReversed().filter((step) => {
    if (!step.outputs.some(({ wire }) => wires.has(wire))) return false;
    for (const { wire } of step.inputs) wires.add(wire);
    return true;
  });
  return needed.toReversed();
};

/** The steps, and what each of them waits for, that answer a request for `outputs`: all of the ensemble's where it is empty. */
export const planEnsemble = (graph: EnsembleGraph, outputs: ReadonlySet<string> = new Set()): RunPlan => {
  const { wires, branchSizes } = graph;
  const withSlot = <Wired extends { readonly wire: number }>(tap: Wired) => ({ ...tap, slot: wires[tap.wire]?.slot ?? 0 });
  const wanted = graph.outputs.filter(({ name }) => outputs.size === 0 || outputs.has(name));
  const needed = neededSteps(graph, wanted);
  const taken = new Set([...wanted, ...needed.flatMap(({ inputs }) => inputs)].map(({ wire }) => wire));
  const answerBranch = wires[wanted[0]?.wire ?? 0]?.branch ?? 0;

  const jointCounts = branchSizes.map(() => 0);
  const steps = needed.map((step): StepPlan => {
    const joint = jointCounts[step.branch] ?? 0;
    jointCounts[step.branch] = joint + 1;
    const written = step.outputs.filter(({ wire }) => taken.has(wire));
    const isAll = step.modelOutputs.every((name) => written.some((output) => output.name === name));
    return {
      step,
      joint,
      inputs: step.inputs.map(withSlot),
      outputs: written.map(withSlot),
      requested: isAll ? [] : written.map(({ name }) => ({ name, classification: 0 })),
    };
  });
  const answer = wanted.map(withSlot);
  const branches = branchSizes.map((size, branch): BranchPlan => {
    const joints: (StepPlan | undefined)[] = steps.filter(({ step }) => step.branch === branch);
    if (branch === answerBranch) joints.push(undefined);
    return {
      joints,
      join: joinPlan(
        size,
        joints.map((plan) => (plan?.inputs ?? answer).map(({ slot }) => slot)),
      ),
    };
  });
  return { outputs: answer, steps, branches, answerBranch, inputs: graph.inputs.map(withSlot) };
};

/** So many sets of outputs are remembered; a client that names others pays for its plan each time. */
const mostPlans = 64;

/** Plans by the outputs that requests name, made once for each set. */
export const ensemblePlans = (graph: EnsembleGraph): ((requested: readonly RequestedOutput[]) => RunPlan) => {
  const whole = planEnsemble(graph);
  const known = new Map<string, RunPlan>();
  return (requested) => {
    if (requested.length === 0) return whole;
    const names = new Set(requested.map(({ name }) => name));
    if (names.size === graph.outputs.length) return whole;
    const key = JSON.stringify([...names].toSorted());
    const found = known.get(key);
    if (found !== undefined) return found;
    const plan = planEnsemble(graph, names);
    if (known.size < mostPlans) known.set(key, plan);
    return plan;
  };
};
