import type { EnsembleStep } from '../../streams/inference/model-spec.ts';

/** Numbers of the steps, each behind those whose tensors it takes. Steps that can never run, as in a circle, are left out. */
export const orderSteps = (inputs: readonly string[], steps: readonly EnsembleStep[]): readonly number[] => {
  const ready = new Set(inputs);
  const order: number[] = [];
  const left = new Set(steps.keys());
  for (let before = -1; before < order.length; ) {
    before = order.length;
    for (const index of left) {
      const step = steps[index];
      if (step === undefined || ![...step.inputs.values()].every((tensor) => ready.has(tensor))) continue;
      left.delete(index);
      order.push(index);
      for (const tensor of step.outputs.values()) ready.add(tensor);
    }
  }
  return order;
};
