import type { EnsembleStep } from '../../streams/inference/model-spec.ts';

export interface AskedAgainConfig {
  readonly steps: readonly EnsembleStep[];
  /** Numbers of the steps, each behind those whose tensors it takes. */
  readonly order: readonly number[];
  /** By step: see `decoupledWithin`. */
  readonly decoupledWithin: readonly ReadonlySet<string>[];
}

/** Steps behind which a step stands that asks a model which answers many times, and which they ask too. */
export const findAskedAgain = ({ steps, order, decoupledWithin }: AskedAgainConfig): ReadonlySet<number> => {
  /** By tensor: what the steps ask that it goes through. */
  const behind = new Map<string, Set<string>>();
  const askedAgain = new Set<number>();
  for (const index of order.toReversed()) {
    const step = steps[index];
    if (step === undefined) continue;
    const own = decoupledWithin[index] ?? new Set();
    const later = new Set([...step.outputs.values()].flatMap((tensor) => [...(behind.get(tensor) ?? [])]));
    if ([...own].some((model) => later.has(model))) askedAgain.add(index);
    for (const tensor of step.inputs.values()) {
      const known = behind.get(tensor) ?? new Set();
      for (const model of [...own, ...later]) known.add(model);
      behind.set(tensor, known);
    }
  }
  return askedAgain;
};
