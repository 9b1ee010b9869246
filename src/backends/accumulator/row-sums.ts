import type { ModelSpec } from '../../streams/inference/model-spec.ts';
import { isSet, type Sums } from './accumulator-instance.ts';

/** A sum for each row of the batches, which the direct strategy gives to one sequence at a time. */
export const rowSums = ({ maxBatchSize }: ModelSpec): Sums => {
  const sums = new Int32Array(Math.max(1, maxBatchSize));
  return {
    add: (row, { inputs }, sum) => {
      const before = isSet(inputs.get('START')) ? 0 : (sums[row] ?? 0);
      const after = (before + sum) | 0;
      sums[row] = after;
      return after;
    },
  };
};
