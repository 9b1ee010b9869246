import type { ModelSpec } from '../../src/streams/inference/model-spec.ts';
import { makeInput, makeSpec } from '../../test/support/model.ts';
import type { SequenceSetting } from './sequence-asked.ts';
import { controlSpecs } from './sequence-controls.ts';
import { shownState, stateSpecs } from './sequence-states.ts';

export const sequenceSpec = (setting: SequenceSetting): ModelSpec => {
  const { maxBatchSize, strategy, maxIdleMs, controls, ids, hasStates, isIterative, endsIdleWithStep, maxQueueSize } = setting;
  const output = { datatype: 'UINT8', dims: [-1], reshape: undefined, labels: [] } as const;
  const outputs = [{ ...output, name: 'OUT' }];
  return makeSpec({
    maxBatchSize,
    inputs: [makeInput({ dims: [-1] })],
    outputs: hasStates ? [...outputs, { ...output, name: shownState }] : outputs,
    dynamicBatching: undefined,
    sequenceBatching: {
      strategy,
      maxIdleMs,
      controls: controlSpecs(controls, ids),
      states: hasStates ? stateSpecs(maxBatchSize > 0) : [],
      isIterative,
      endsIdleWithStep,
    },
    maxQueueSize,
  });
};
