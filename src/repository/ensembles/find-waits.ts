import type { StepWaits } from '../../operators/ensembles/wait-order.ts';
import type { EnsembleStep } from '../../streams/inference/model-spec.ts';

export interface FindWaitsConfig {
  readonly steps: readonly EnsembleStep[];
  /** Numbers of the steps, each behind those whose tensors it takes. */
  readonly order: readonly number[];
  /** By step: see `decoupledWithin`. */
  readonly decoupledWithin: readonly ReadonlySet<string>[];
}

const none: ReadonlySet<string> = new Set();

/** By step: the models that answer many times which it asks, and those which the steps behind it ask. */
export const findWaits = ({ steps, order, decoupledWithin }: FindWaitsConfig): readonly StepWaits[] => {
  /** By tensor: what the steps ask that it goes through. */
  const through = new Map<string, Set<string>>();
  const waits: StepWaits[] = [];
  for (const index of order.toReversed()) {
    const step = steps[index];
    if (step === undefined) continue;
    const models = decoupledWithin[index] ?? none;
    const behind = new Set([...step.outputs.values()].flatMap((tensor) => [...(through.get(tensor) ?? none)]));
    waits[index] = { models, behind };
    for (const tensor of step.inputs.values()) {
      const known = through.get(tensor) ?? new Set();
      for (const model of [...models, ...behind]) known.add(model);
      through.set(tensor, known);
    }
  }
  return waits;
};
