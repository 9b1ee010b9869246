import type { Datatype } from '../../streams/tensors/datatype.ts';
import { formatShape, matchesShape } from '../../streams/tensors/shape.ts';
import type { Tensor } from '../../streams/tensors/tensor.ts';
import { tensorFrom } from '../../streams/tensors/tensor-from-values.ts';
import { ModelError } from './model-module.ts';
import type { OutputPort } from './model-ports.ts';
import type { MadeTensor, ModelTensor } from './model-tensor.ts';
import { TensorView } from './tensor-view.ts';

/** What a model made, as a tensor that shares its memory where no value must be converted. @throws TypeError or RangeError, told by `tensorFrom` */
const tensorOf = (made: MadeTensor | ModelTensor, datatype: Datatype): Tensor =>
  made instanceof TensorView ? made.tensor : tensorFrom(datatype, made.shape, made.data);

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** @throws ModelError INTERNAL where it is not what the config has, or its data are not what its shape and datatype say */
export const outputTensor = (made: MadeTensor | ModelTensor, { name, datatype, shape }: OutputPort): Tensor => {
  if (made.datatype !== undefined && made.datatype !== datatype) {
    throw new ModelError(`output '${name}' is ${datatype} in the model configuration, the model gave ${made.datatype}`);
  }
  let tensor: Tensor;
  try {
    tensor = tensorOf(made, datatype);
  } catch (error) {
    throw new ModelError(`output '${name}': ${reasonOf(error)}`, 'INTERNAL', { cause: error });
  }
  if (matchesShape(shape, tensor.shape)) return tensor;
  throw new ModelError(`unexpected shape for output '${name}': expected ${formatShape(shape)}, got ${formatShape(tensor.shape)}`);
};

/** @throws ModelError INVALID_ARGUMENT where it has no datatype, or its data are not what its shape and datatype say */
export const inputTensor = (name: string, made: MadeTensor | ModelTensor): Tensor => {
  if (made.datatype === undefined) throw new ModelError(`input '${name}' of a call has no datatype`, 'INVALID_ARGUMENT');
  try {
    return tensorOf(made, made.datatype);
  } catch (error) {
    throw new ModelError(`input '${name}': ${reasonOf(error)}`, 'INVALID_ARGUMENT', { cause: error });
  }
};
