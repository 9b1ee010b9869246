import type { Tensors } from '../tensors/tensor.ts';
import { noParameters } from './parameters.ts';
import type { InferRequest } from './request.ts';

/** A request of inputs and nothing else: every output, no sequence, the model's own priority and time-out. */
export const bareRequest = (modelName: string, modelVersion: string, inputs: Tensors): InferRequest => ({
  modelName,
  modelVersion,
  id: '',
  inputs,
  outputs: [],
  parameters: noParameters,
  sequenceId: 0n,
  sequenceStart: false,
  sequenceEnd: false,
  priority: 0n,
  timeoutMicroseconds: 0n,
});
