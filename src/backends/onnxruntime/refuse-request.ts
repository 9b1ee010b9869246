import { InferError } from '../../streams/inference/error.ts';
import type { InferRequest } from '../../streams/inference/request.ts';
import { BytesLayoutError } from '../../streams/tensors/bytes-elements.ts';
import type { Tensor } from '../../streams/tensors/tensor.ts';
import { damagedString } from './damaged-string.ts';
import type { ModelPorts } from './worker-protocol.ts';

/**
 * Why a request cannot run though it is valid; undefined when it can. Concerns that request alone: the others of its batch run without it.
 *
 * An input may be `optional` in the config, but onnxruntime-node has no way to run a model without one of its inputs.
 */
export const refuseRequest = (request: InferRequest, { inputs }: ModelPorts): InferError | undefined => {
  for (const { name, datatype, form } of inputs) {
    if (form === 'whole') continue;
    const tensor = request.inputs.get(name);
    if (tensor === undefined) {
      const message = `optional input '${name}' is missing in the request to model '${request.modelName}': onnxruntime-node cannot run it without`;
      return new InferError('INVALID_ARGUMENT', message, { reason: 'BACKEND' });
    }
    const fault = datatype === 'BYTES' ? faultOf(tensor) : undefined;
    if (fault !== undefined) {
      const message = `input '${name}' for model '${request.modelName}' cannot be carried by onnxruntime-node: ${fault}`;
      return new InferError('INVALID_ARGUMENT', message, { reason: 'BACKEND' });
    }
  }
  return undefined;
};

const faultOf = (tensor: Tensor): string | undefined => {
  try {
    return damagedString(tensor);
  } catch (error) {
    if (error instanceof BytesLayoutError) return error.message;
    throw error;
  }
};
