import { bareRequest } from '../../streams/inference/bare-request.ts';
import { InferError, requestPrefix } from '../../streams/inference/error.ts';
import type { InputSpec, ModelSpec } from '../../streams/inference/model-spec.ts';
import type { InferRequest } from '../../streams/inference/request.ts';
import { elementByteSize } from '../../streams/tensors/datatype.ts';
import type { Shape } from '../../streams/tensors/shape.ts';
import { elementCount } from '../../streams/tensors/shape.ts';
import { Tensor } from '../../streams/tensors/tensor.ts';
import type { Body } from './read-body.ts';

/**
 * The request of a body without JSON, which is the one tensor that the model takes: its shape follows from the config and from how many bytes there are.
 * A string comes without its length.
 *
 * @throws InferError INVALID_ARGUMENT
 */
export const rawRequest = (spec: ModelSpec, modelVersion: string, body: Body): InferRequest => {
  const [input] = spec.inputs;
  if (input === undefined || spec.inputs.length !== 1) {
    throw invalid(
      `Raw request must only have 1 input (found 1) to be deduced but got ${spec.inputs.length} inputs in '${spec.name}' model configuration`,
    );
  }
  return bareRequest(spec.name, modelVersion, new Map([[input.name, rawTensor(input, spec, body)]]));
};

const rawTensor = (input: InputSpec, spec: ModelSpec, body: Body): Tensor => {
  const batch = spec.maxBatchSize > 0 ? [1] : [];
  if (input.datatype !== 'BYTES') {
    return new Tensor(input.datatype, [...batch, ...rawShape(input, body.length)], body.buffer, 0, body.length);
  }
  if (input.dims.length !== 1 || input.dims[0] !== 1) {
    throw invalid(`For BYTE datatype raw input '${input.name}', the model must have input shape [1]`);
  }
  const element = Buffer.allocUnsafe(4 + body.length);
  element.writeUInt32LE(body.length, 0);
  body.buffer.copy(element, 4, 0, body.length);
  return new Tensor('BYTES', [...batch, 1], element);
};

const rawShape = (input: InputSpec, byteLength: number): Shape => {
  const variable = input.dims.indexOf(-1);
  if (variable === -1) return input.dims;
  if (input.dims.includes(-1, variable + 1)) {
    throw invalid(`The shape of the raw input '${input.name}' can not be deduced because there are more than one variable-sized dimension`);
  }
  const others = elementCount(input.dims.filter((size) => size !== -1));
  const size = others === 0 ? 0 : Math.floor(byteLength / (others * elementByteSize(input.datatype)));
  return input.dims.with(variable, size);
};

const invalid = (message: string): InferError => new InferError('INVALID_ARGUMENT', requestPrefix('') + message);
