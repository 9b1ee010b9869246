import type { Batch } from '../../streams/inference/backend.ts';
import { InferError } from '../../streams/inference/error.ts';
import type { InferRequest } from '../../streams/inference/request.ts';
import { concatInto } from '../../streams/tensors/concat.ts';
import { elementByteSize } from '../../streams/tensors/datatype.ts';
import { elementCount, formatShape } from '../../streams/tensors/shape.ts';
import type { Tensor } from '../../streams/tensors/tensor.ts';
import type { GrowingMemory } from '../workers/growing-memory.ts';
import { alignUp, type SlotMemory, type TensorPlace } from './slot-memory.ts';
import type { InputPort, ModelPorts } from './worker-protocol.ts';

/** What is written of a batch. */
export type WrittenBatch = Pick<Batch, 'requests' | 'totalRows' | 'wholeInputs'>;

/**
 * Puts a batch where its worker reads it: each input of all requests end to end, along dimension 0 or as one dimension, and the tensors of the whole
 * batch; each byte copied once.
 *
 * Returns whether `memory` had to become another one, so that the worker must be told.
 *
 * @throws InferError INTERNAL when the requests' shapes do not make one tensor, or a tensor is missing
 */
export const writeInputs = (batch: WrittenBatch, { inputs, batches }: ModelPorts, slot: SlotMemory, memory: GrowingMemory): boolean => {
  const { requests, totalRows } = batch;
  if (!batches && requests.length > 1)
    throw new InferError('INTERNAL', `a model without batch dimension got ${requests.length} requests at once`);
  slot.rows = totalRows;
  let size = 0;
  for (let index = 0; index < inputs.length; index++) {
    const port = inputs[index];
    if (port === undefined) break;
    const place = placeOf(port, batch, batches, alignUp(size));
    slot.setInput(index, place);
    size = place.start + place.byteLength;
  }
  const isNew = memory.fit(size);
  let end = 0;
  for (const port of inputs) end = concatInto(memory.buffer, alignUp(end), tensorsOf(port, batch));
  return isNew;
};

const placeOf = (port: InputPort, batch: WrittenBatch, batches: boolean, start: number): TensorPlace => {
  if (port.form === 'whole') {
    const { shape, byteLength } = wholeOf(port.name, batch);
    return { area: 0, start, byteLength, dims: shape };
  }
  let byteLength = 0;
  let count = 0;
  let dims: readonly number[] = [];
  for (const request of batch.requests) {
    const { shape, start: from, end } = inputOf(request, port.name);
    byteLength += end - from;
    if (port.form === 'ragged') count += elementCount(shape);
    dims = shape;
  }
  if (port.form === 'ragged') dims = [count];
  else if (batches) dims = [batch.totalRows, ...dims.slice(1)];
  if (port.datatype !== 'BYTES' && byteLength !== elementCount(dims) * elementByteSize(port.datatype)) {
    throw new InferError(
      'INTERNAL',
      `input '${port.name}' of a batch has ${byteLength} bytes, which do not make shape ${formatShape(dims)}`,
    );
  }
  return { area: 0, start, byteLength, dims };
};

const tensorsOf = ({ name, form }: InputPort, batch: WrittenBatch): readonly Tensor[] =>
  form === 'whole' ? [wholeOf(name, batch)] : batch.requests.map((request) => inputOf(request, name));

const wholeOf = (name: string, { wholeInputs }: WrittenBatch): Tensor => {
  const tensor = wholeInputs.get(name);
  if (tensor === undefined) throw new InferError('INTERNAL', `input '${name}' of the whole batch is missing`);
  return tensor;
};

const inputOf = (request: InferRequest, name: string): Tensor => {
  const tensor = request.inputs.get(name);
  if (tensor === undefined) throw new InferError('INTERNAL', `input '${name}' is missing from a batch of model '${request.modelName}'`);
  return tensor;
};
