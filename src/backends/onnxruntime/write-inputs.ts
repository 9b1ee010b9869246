import type { SignatureTensor } from '../../streams/inference/backend.ts';
import { InferError } from '../../streams/inference/error.ts';
import type { InferRequest } from '../../streams/inference/request.ts';
import { concatInto } from '../../streams/tensors/concat.ts';
import { elementByteSize } from '../../streams/tensors/datatype.ts';
import { elementCount, formatShape } from '../../streams/tensors/shape.ts';
import type { Tensor } from '../../streams/tensors/tensor.ts';
import type { GrowingMemory } from './growing-memory.ts';
import { alignUp, type SlotMemory, type TensorPlace } from './slot-memory.ts';
import type { ModelPorts } from './worker-protocol.ts';

/**
 * Puts a batch where its worker reads it: each input of all requests end to end along dimension 0, each byte copied once.
 *
 * Returns whether `memory` had to become another one, so that the worker must be told.
 *
 * @throws InferError INTERNAL when the requests' shapes do not make one tensor
 */
export const writeInputs = (
  requests: readonly InferRequest[],
  rows: number,
  { inputs, batches }: ModelPorts,
  slot: SlotMemory,
  memory: GrowingMemory,
): boolean => {
  if (!batches && requests.length > 1)
    throw new InferError('INTERNAL', `a model without batch dimension got ${requests.length} requests at once`);
  slot.rows = rows;
  let size = 0;
  for (let index = 0; index < inputs.length; index++) {
    const port = inputs[index];
    if (port === undefined) break;
    const place = placeOf(port, requests, rows, batches, alignUp(size));
    slot.setInput(index, place);
    size = place.start + place.byteLength;
  }
  const isNew = memory.fit(size);
  let end = 0;
  for (const { name } of inputs) end = concatInto(memory.buffer, alignUp(end), tensorsOf(requests, name));
  return isNew;
};

const placeOf = (port: SignatureTensor, requests: readonly InferRequest[], rows: number, batches: boolean, start: number): TensorPlace => {
  let byteLength = 0;
  let dims: readonly number[] = [];
  for (const request of requests) {
    const { shape, start: from, end } = inputOf(request, port.name);
    byteLength += end - from;
    dims = shape;
  }
  if (batches) dims = [rows, ...dims.slice(1)];
  if (port.datatype !== 'BYTES' && byteLength !== elementCount(dims) * elementByteSize(port.datatype)) {
    throw new InferError(
      'INTERNAL',
      `input '${port.name}' of a batch has ${byteLength} bytes, which do not make shape ${formatShape(dims)}`,
    );
  }
  return { area: 0, start, byteLength, dims };
};

const tensorsOf = (requests: readonly InferRequest[], name: string): readonly Tensor[] => requests.map((request) => inputOf(request, name));

const inputOf = (request: InferRequest, name: string): Tensor => {
  const tensor = request.inputs.get(name);
  if (tensor === undefined) throw new InferError('INTERNAL', `input '${name}' is missing from a batch of model '${request.modelName}'`);
  return tensor;
};
