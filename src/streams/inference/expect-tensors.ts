import type { Datatype } from '../tensors/datatype.ts';
import { formatShape, type Shape } from '../tensors/shape.ts';
import { InferError } from './error.ts';
import type { ModelSpec, TensorSpec } from './model-spec.ts';

/** A tensor that a backend's models have. */
export interface ExpectedTensor {
  readonly name: string;
  readonly datatype: Datatype;
  /** −1 for any size, or any number. */
  readonly dims: Shape;
}

const ordinals = ['first', 'second', 'third', 'fourth'];

const dimsOf = ({ dims, reshape }: TensorSpec): Shape => reshape ?? dims;

const faultOf = (kind: 'input' | 'output', tensors: readonly TensorSpec[], expected: readonly ExpectedTensor[]): string | undefined => {
  if (tensors.length !== expected.length) {
    return `expected ${expected.length} ${kind}${expected.length === 1 ? '' : 's'}, got ${tensors.length}`;
  }
  for (const [index, { name, datatype, dims }] of expected.entries()) {
    const tensor = tensors[index];
    if (tensor === undefined) continue;
    if (tensor.name !== name) return `expected ${ordinals[index]} ${kind} tensor name to be ${name}, got ${tensor.name}`;
    const got = dimsOf(tensor);
    if (got.length !== dims.length || dims.some((size, axis) => size !== -1 && size !== got[axis])) {
      return `expected ${name} shape to be ${formatShape(dims)}, got ${formatShape(got)}`;
    }
    if (tensor.datatype !== datatype) return `expected ${name} datatype to be ${datatype}, got ${tensor.datatype}`;
  }
  return undefined;
};

/** For a backend whose models have all the same tensors, in this order. @throws InferError INVALID_ARGUMENT */
export const expectTensors = (
  { name, backend, inputs, outputs }: ModelSpec,
  expected: { readonly inputs: readonly ExpectedTensor[]; readonly outputs: readonly ExpectedTensor[] },
): void => {
  const text = faultOf('input', inputs, expected.inputs) ?? faultOf('output', outputs, expected.outputs);
  if (text !== undefined) throw new InferError('INVALID_ARGUMENT', `unable to load model '${name}' of the ${backend} backend: ${text}`);
};
