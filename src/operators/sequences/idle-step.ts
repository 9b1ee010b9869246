import { bareRequest } from '../../streams/inference/bare-request.ts';
import type { Tensors } from '../../streams/tensors/tensor.ts';
import { Tensor } from '../../streams/tensors/tensor.ts';
import { zeroTensor } from '../../streams/tensors/zero-tensor.ts';
import { type Call, endedCall } from '../call.ts';
import type { Sequence } from './sequence.ts';

const noBytes = new Uint8Array(0);
const parameters = new Map([['weir_sequence_idle', true]]);

/** Inputs without their bytes, which may be part of a large message. */
export const shapesOf = (inputs: Tensors): Tensors => {
  const shapes = new Map<string, Tensor>();
  for (const [name, { datatype, shape }] of inputs) shapes.set(name, new Tensor(datatype, shape, noBytes));
  return shapes;
};

/** The call by which a model learns that a sequence was idle: its last step, with zeros in the shapes of the request before. It has ended before. */
export const idleStep = ({ id, lastInputs, lastShapeKey }: Sequence, modelName: string, nowMs: number): Call => {
  const inputs = new Map<string, Tensor>();
  for (const [name, { datatype, shape }] of lastInputs ?? []) inputs.set(name, zeroTensor(datatype, shape));
  const request = { ...bareRequest(modelName, '', inputs), parameters, sequenceId: id, sequenceEnd: true };
  return endedCall(request, lastShapeKey, nowMs);
};
