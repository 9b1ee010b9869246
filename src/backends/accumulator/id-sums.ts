import type { ModelSpec } from '../../streams/inference/model-spec.ts';
import type { Tensor } from '../../streams/tensors/tensor.ts';
import { tensorStrings, tensorValues } from '../../streams/tensors/tensor-values.ts';
import { isSet, type Sums } from './accumulator-instance.ts';

type SequenceId = bigint | string;

interface Sum {
  value: number;
  /** Counts requests. */
  usedAt: number;
}

const idOf = (tensor: Tensor | undefined): SequenceId => {
  if (tensor === undefined) return 0n;
  return tensor.datatype === 'BYTES' ? (tensorStrings(tensor)[0] ?? '') : BigInt(String(tensorValues(tensor)[0] ?? 0));
};

/** The low 32 bits; of a string where it is a decimal number. */
const numberOf = (id: SequenceId): number => {
  if (typeof id === 'string' && !/^\d+$/.test(id)) return 0;
  return Number(BigInt.asIntN(32, BigInt(id)));
};

/** Sequences that may be at one instance. */
const sequencesOf = ({ maxBatchSize, sequenceBatching }: ModelSpec): number => {
  const strategy = sequenceBatching?.strategy;
  return strategy?.kind === 'oldest' ? strategy.maxCandidateSequences : Math.max(1, maxBatchSize);
};

/**
 * A sum for each correlation id, to which the id is added at END. A sequence that was idle for too long never ends here: what has not been used for
 * longest gives way, which is never one that goes on.
 */
export const idSums = (spec: ModelSpec): Sums => {
  const limit = sequencesOf(spec);
  const sums = new Map<SequenceId, Sum>();
  let requests = 0;

  const makeRoom = (): void => {
    if (sums.size <= limit) return;
    let oldest: readonly [SequenceId, Sum] | undefined;
    for (const entry of sums) if (oldest === undefined || entry[1].usedAt < oldest[1].usedAt) oldest = entry;
    if (oldest !== undefined) sums.delete(oldest[0]);
  };

  return {
    add: (_row, { inputs }, sum) => {
      const id = idOf(inputs.get('CORRID'));
      const known = isSet(inputs.get('START')) ? undefined : sums.get(id);
      const isEnd = isSet(inputs.get('END'));
      const value = ((known?.value ?? 0) + sum + (isEnd ? numberOf(id) : 0)) | 0;
      requests++;
      if (isEnd) sums.delete(id);
      else if (known === undefined) sums.set(id, { value, usedAt: requests });
      else {
        known.value = value;
        known.usedAt = requests;
      }
      makeRoom();
      return value;
    },
  };
};
