import type { SequenceBatching, StateSpec } from '../../src/streams/inference/model-spec.ts';
import { tensorFrom } from '../../src/streams/tensors/tensor-from-values.ts';

/** Oldest, with 8 candidates, and neither control inputs nor states. */
export const makeSequenceBatching = (fields: Partial<SequenceBatching> = {}): SequenceBatching => ({
  strategy: { kind: 'oldest', maxCandidateSequences: 8, preferredBatchSizes: [8], maxQueueDelayMs: 0, preserveOrdering: false },
  maxIdleMs: 1000,
  controls: [],
  states: [],
  isIterative: false,
  endsIdleWithStep: false,
  ...fields,
});

/** STATE from STATE_OUT: one INT32, 0 at first. */
export const makeState = (fields: Partial<StateSpec> = {}): StateSpec => ({
  inputName: 'STATE',
  outputName: 'STATE_OUT',
  datatype: 'INT32',
  dims: [1],
  initial: tensorFrom('INT32', [1, 1], [0]),
  ...fields,
});
