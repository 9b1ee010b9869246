import type { ModelSpec } from '../../src/streams/inference/model-spec.ts';
import { zeroTensor } from '../../src/streams/tensors/zero-tensor.ts';
import { echoSpec } from './echo-spec.ts';

const stateFloats = 256;

/** The identity model with sequences: control inputs, and one state of 1 KiB. */
export const stepSpec: ModelSpec = {
  ...echoSpec,
  name: 'steps',
  backend: 'steps',
  dynamicBatching: undefined,
  sequenceBatching: {
    strategy: { kind: 'oldest', maxCandidateSequences: 64, preferredBatchSizes: [64], maxQueueDelayMs: 0, preserveOrdering: false },
    maxIdleMs: 60_000,
    controls: [
      { kind: 'START', name: 'START', datatype: 'INT32', whenFalse: 0, whenTrue: 1 },
      { kind: 'END', name: 'END', datatype: 'INT32', whenFalse: 0, whenTrue: 1 },
      { kind: 'READY', name: 'READY', datatype: 'INT32', whenFalse: 0, whenTrue: 1 },
      { kind: 'CORRID', name: 'CORRID', datatype: 'UINT64' },
    ],
    states: [
      {
        inputName: 'STATE',
        outputName: 'STATE_OUT',
        datatype: 'FP32',
        dims: [stateFloats],
        initial: zeroTensor('FP32', [1, stateFloats]),
      },
    ],
    isIterative: false,
    endsIdleWithStep: false,
  },
};
