import type { Tensors } from '../../streams/tensors/tensor.ts';
import type { StepPlan } from './ensemble-plan.ts';
import type { EnsembleRow } from './ensemble-row.ts';
import { keepTensor } from './keep-tensor.ts';

export interface KeepOutputsConfig {
  /** Where the outputs of a step's answer have been put. */
  readonly row: EnsembleRow;
  readonly outputs: StepPlan['outputs'];
  /** What the step asked with. */
  readonly inputs: Tensors;
  /** Joints that lack nothing any more: an answer among them goes out within this call. */
  readonly whole: readonly number[];
}

/** Keeps the tensors of an answer that somebody needs after this call. Returns the bytes that were copied for that. */
export const keepOutputs = ({ row, outputs, inputs, whole }: KeepOutputsConfig): number => {
  const { joints, join } = row.branch;
  const isNeededNow = (joint: number): boolean => joints[joint] === undefined && whole.includes(joint);
  let bytes = 0;
  for (const { slot } of outputs) {
    const tensor = row.tensors.get(slot);
    const takers = join.jointsOf[slot];
    if (tensor === undefined || takers === undefined || takers.every(isNeededNow)) continue;
    const kept = keepTensor(tensor, inputs);
    if (kept === tensor) continue;
    row.tensors.replace(slot, kept);
    bytes += kept.byteLength;
  }
  return bytes;
};
