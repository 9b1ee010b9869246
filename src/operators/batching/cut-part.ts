import type { Part } from '../../streams/inference/backend.ts';
import { InferError } from '../../streams/inference/error.ts';
import { formatShape, type Shape } from '../../streams/tensors/shape.ts';
import type { Tensors } from '../../streams/tensors/tensor.ts';
import type { PaddingPlan, VariableTensor } from './padding-plan.ts';
import { resizeTensor } from './resize-tensor.ts';

/** Whether a shape has these sizes along these axes. */
export const hasSizes = (shape: Shape, axes: readonly number[], sizes: Shape): boolean =>
  axes.every((axis, index) => shape[axis] === sizes[index]);

export const withSizes = (shape: Shape, axes: readonly number[], sizes: Shape): Shape => {
  const copy = shape.slice();
  for (const [index, axis] of axes.entries()) copy[axis] = sizes[index] ?? 0;
  return copy;
};

/**
 * An answer of a padded batch without what was filled up: copies of the outputs that are to be cut back, where they must be. An output that
 * has not the length to which the batch was filled up makes it an INTERNAL error of that request.
 *
 * @param longest sizes of the first padded input's dimensions of any size, in the batch
 * @param given shape of that input, as the client sent it
 */
export const cutPart = ({ model, first, outputs: all }: PaddingPlan, longest: Shape, given: Shape, part: Part): Part => {
  if (part.outputs.size === 0 || hasSizes(given, first.axes, longest)) return part;
  const sizes = first.axes.map((axis) => given[axis] ?? 0);
  const outputs = new Map(part.outputs);
  for (const output of all) {
    const tensor = outputs.get(output.name);
    if (tensor === undefined) continue;
    if (tensor.shape.length !== output.rank || !hasSizes(tensor.shape, output.axes, longest)) {
      return { ...part, outputs: noTensors, error: unlike(model, output, longest, tensor.shape) };
    }
    outputs.set(output.name, resizeTensor(tensor, withSizes(tensor.shape, output.axes, sizes), output.filling));
  }
  return { ...part, outputs };
};

const noTensors: Tensors = new Map();

const unlike = (model: string, { name, rank, axes }: VariableTensor, longest: Shape, got: Shape): InferError => {
  const wanted = formatShape(withSizes(Array<number>(rank).fill(-1), axes, longest));
  const message = `output '${name}' of model '${model}' cannot be cut back to its request's size: expected ${wanted}, got ${formatShape(got)}`;
  return new InferError('INTERNAL', message, { reason: 'BACKEND' });
};
