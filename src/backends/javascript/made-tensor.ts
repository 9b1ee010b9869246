import { type Datatype, isDatatype } from '../../streams/tensors/datatype.ts';
import { formatShape, matchesShape, type Shape } from '../../streams/tensors/shape.ts';
import type { Tensor } from '../../streams/tensors/tensor.ts';
import { tensorFrom } from '../../streams/tensors/tensor-from-values.ts';
import { kindOf } from './kind-of.ts';
import { ModelError } from './model-module.ts';
import type { OutputPort } from './model-ports.ts';
import type { MadeTensor, ModelTensor } from './model-tensor.ts';
import { TensorView } from './tensor-view.ts';

/** What a model made, as a tensor that shares its memory where no value must be converted. @throws TypeError or RangeError that says what is wrong */
const tensorOf = (made: MadeTensor | ModelTensor, datatype: Datatype): Tensor => {
  if (made instanceof TensorView) return made.tensor;
  const { data } = made;
  if (!Array.isArray(data) && !ArrayBuffer.isView(data)) {
    throw new TypeError(`expected a typed array or an array of values as data, got ${kindOf(data)}`);
  }
  return tensorFrom(datatype, shapeOf(made.shape), data);
};

const shapeOf = (given: Shape): Shape => {
  const shape: Shape = ArrayBuffer.isView(given) ? [...given] : given;
  if (!Array.isArray(shape)) throw new TypeError(`expected an array of numbers as shape, got ${kindOf(shape)}`);
  const odd: unknown = shape.find((size) => typeof size !== 'number');
  if (odd !== undefined) throw new TypeError(`expected an array of numbers as shape, got one of ${kindOf(odd)}`);
  return shape;
};

/** @throws ModelError INTERNAL for what is no object, such as an array without its shape */
const requireMade = (what: string, made: unknown): void => {
  if (typeof made === 'object' && made !== null && ('data' in made || 'shape' in made)) return;
  throw new ModelError(`${what}: expected { shape, data }, got ${kindOf(made)}`);
};

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** @throws ModelError INTERNAL where it is not what the config has, or its data are not what its shape and datatype say */
export const outputTensor = (made: MadeTensor | ModelTensor, { name, datatype, shape }: OutputPort): Tensor => {
  requireMade(`output '${name}'`, made);
  if (made.datatype !== undefined && made.datatype !== datatype) {
    throw new ModelError(`output '${name}' is ${datatype} in the model configuration, the model gave ${made.datatype}`);
  }
  let tensor: Tensor;
  try {
    tensor = tensorOf(made, datatype);
  } catch (error) {
    throw new ModelError(`output '${name}': ${reasonOf(error)}`);
  }
  if (matchesShape(shape, tensor.shape)) return tensor;
  throw new ModelError(`unexpected shape for output '${name}': expected ${formatShape(shape)}, got ${formatShape(tensor.shape)}`);
};

/** @throws ModelError INTERNAL where it has no datatype, or its data are not what its shape and datatype say */
export const inputTensor = (name: string, made: MadeTensor | ModelTensor): Tensor => {
  requireMade(`input '${name}' of a call`, made);
  if (made.datatype === undefined) throw new ModelError(`input '${name}' of a call has no datatype`);
  if (!isDatatype(made.datatype))
    throw new ModelError(`input '${name}' of a call has the datatype ${String(made.datatype)}, which there is not`);
  try {
    return tensorOf(made, made.datatype);
  } catch (error) {
    throw new ModelError(`input '${name}' of a call: ${reasonOf(error)}`);
  }
};
