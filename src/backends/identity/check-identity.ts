import { InferError } from '../../streams/inference/error.ts';
import type { ModelSpec, TensorSpec } from '../../streams/inference/model-spec.ts';
import { formatShape, sameShape } from '../../streams/tensors/shape.ts';

/** Refuses a model whose outputs are not its inputs over again. @throws InferError INVALID_ARGUMENT */
export const checkIdentity = (spec: ModelSpec): void => {
  const { name, inputs, outputs } = spec;
  if (inputs.length !== outputs.length) {
    throw refusal(name, `as many outputs as inputs, got ${inputs.length} inputs and ${outputs.length} outputs`);
  }
  for (const [index, output] of outputs.entries()) {
    const input = inputs[index];
    if (input === undefined || (input.datatype === output.datatype && sameShape(modelShape(input), modelShape(output)))) continue;
    throw refusal(name, `output '${output.name}' to be as input '${input.name}', ${describe(input)}, got ${describe(output)}`);
  }
};

const modelShape = ({ dims, reshape }: TensorSpec): readonly number[] => reshape ?? dims;

const describe = (tensor: TensorSpec): string => `${tensor.datatype} ${formatShape(modelShape(tensor))}`;

const refusal = (model: string, wanted: string): InferError =>
  new InferError('INVALID_ARGUMENT', `unable to load model '${model}', the identity backend expects ${wanted}`);
