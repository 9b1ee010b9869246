import { InferError } from '../../streams/inference/error.ts';
import { expectTensors } from '../../streams/inference/expect-tensors.ts';
import type { ModelSpec } from '../../streams/inference/model-spec.ts';
import { formatShape, sameShape } from '../../streams/tensors/shape.ts';

const tensors = {
  inputs: [
    { name: 'IN', datatype: 'INT32', dims: [-1] },
    { name: 'DELAY', datatype: 'UINT32', dims: [-1] },
    { name: 'WAIT', datatype: 'UINT32', dims: [1] },
  ],
  outputs: [
    { name: 'OUT', datatype: 'INT32', dims: [1] },
    { name: 'IDX', datatype: 'UINT32', dims: [1] },
  ],
} as const;

/** @throws InferError INVALID_ARGUMENT */
export const checkRepeat = (spec: ModelSpec): void => {
  if (spec.maxBatchSize !== 0) {
    throw new InferError('INVALID_ARGUMENT', 'repeat backend only supports models with max_batch_size == 0');
  }
  expectTensors(spec, tensors);
  const [values, delays] = spec.inputs.map(({ dims, reshape }) => reshape ?? dims);
  if (values === undefined || delays === undefined || sameShape(values, delays)) return;
  throw new InferError('INVALID_ARGUMENT', `expected IN and DELAY shape to match, got ${formatShape(values)} and ${formatShape(delays)}`);
};
