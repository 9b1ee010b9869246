import { matchesShape } from '../../streams/tensors/shape.ts';
import { Tensor } from '../../streams/tensors/tensor.ts';
import type { GraphTap } from './ensemble-graph.ts';

/** A tensor in the shape that its taker expects, where only one of it and its maker batches; the bytes stay where they are. */
export const fitBatch = ({ fit, dims }: Pick<GraphTap, 'fit' | 'dims'>, tensor: Tensor): Tensor => {
  if (fit === 'as-is') return tensor;
  const { datatype, shape, buffer, start, end } = tensor;
  const isOwn = matchesShape(dims, shape);
  if (fit === 'add') return isOwn ? new Tensor(datatype, [1, ...shape], buffer, start, end) : tensor;
  return isOwn || shape[0] !== 1 ? tensor : new Tensor(datatype, shape.slice(1), buffer, start, end);
};
