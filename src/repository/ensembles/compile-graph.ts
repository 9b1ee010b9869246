import type { BatchFit, EnsembleGraph, GraphTap, GraphWire } from '../../operators/ensembles/ensemble-graph.ts';
import type { ModelSpec, TensorSpec } from '../../streams/inference/model-spec.ts';
import type { StepsConfig } from './check-steps.ts';
import { findWaits } from './find-waits.ts';
import { orderSteps } from './order-steps.ts';

const batches = ({ maxBatchSize }: ModelSpec): boolean => maxBatchSize > 0;

const fitOf = (taker: ModelSpec, maker: ModelSpec): BatchFit => {
  if (batches(taker) === batches(maker)) return 'as-is';
  return batches(taker) ? 'add' : 'strip';
};

export interface CompileGraphConfig extends StepsConfig {
  /** By step: see `decoupledWithin`. */
  readonly decoupledWithin: readonly ReadonlySet<string>[];
}

/** Turns a checked ensemble into the graph that runs. */
export const compileGraph = ({ ensemble, steps, models, branches, decoupledWithin }: CompileGraphConfig): EnsembleGraph => {
  const wires: GraphWire[] = [];
  const branchSizes = Array.from({ length: branches.count }, () => 0);
  const numbers = new Map<string, number>();
  const makers: ModelSpec[] = [];

  const addWire = (name: string, maker: ModelSpec): number => {
    const known = numbers.get(name);
    if (known !== undefined) return known;
    const branch = branches.ofTensor.get(name) ?? 0;
    const slot = branchSizes[branch] ?? 0;
    branchSizes[branch] = slot + 1;
    numbers.set(name, wires.length);
    wires.push({ name, branch, slot });
    makers.push(maker);
    return wires.length - 1;
  };
  const tap = (name: string, tensor: string, taker: ModelSpec, specs: readonly TensorSpec[]): GraphTap => {
    const wire = numbers.get(tensor) ?? 0;
    return { name, wire, fit: fitOf(taker, makers[wire] ?? taker), dims: specs.find((spec) => spec.name === name)?.dims ?? [] };
  };

  const inputs = ensemble.inputs.map(({ name }) => ({ name, wire: addWire(name, ensemble) }));
  const order = orderSteps(
    ensemble.inputs.map(({ name }) => name),
    steps,
  );
  const waits = findWaits({ steps, order, decoupledWithin });
  const compiled = order.flatMap((index) => {
    const step = steps[index];
    const model = models[index];
    const stepWaits = waits[index];
    if (step === undefined || model === undefined || stepWaits === undefined) return [];
    const taps = [...step.inputs].map(([name, tensor]) => tap(name, tensor, model, model.inputs));
    const outputs = [...step.outputs].map(([name, tensor]) => ({ name, wire: addWire(tensor, model) }));
    const branch = wires[taps[0]?.wire ?? 0]?.branch ?? 0;
    return [
      {
        index,
        modelName: step.modelName,
        modelVersion: step.modelVersion,
        inputs: taps,
        outputs,
        modelOutputs: model.outputs.map(({ name }) => name),
        branch,
        outputBranch: wires[outputs[0]?.wire ?? 0]?.branch ?? branch,
        waits: stepWaits,
      },
    ];
  });
  return {
    name: ensemble.name,
    version: ensemble.version,
    maxBatchSize: ensemble.maxBatchSize,
    wires,
    branchSizes,
    inputs,
    outputs: ensemble.outputs.map(({ name }) => tap(name, name, ensemble, ensemble.outputs)),
    steps: compiled,
    maxInflightRequests: ensemble.ensemble?.maxInflightRequests ?? 0,
  };
};
