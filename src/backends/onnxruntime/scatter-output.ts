import { InferError } from '../../streams/inference/error.ts';
import type { InferRequest } from '../../streams/inference/request.ts';
import { skipBytesElements } from '../../streams/tensors/bytes-elements.ts';
import { elementByteSize } from '../../streams/tensors/datatype.ts';
import { elementCount, formatShape, type Shape } from '../../streams/tensors/shape.ts';
import { Tensor } from '../../streams/tensors/tensor.ts';

/**
 * Cuts an output, whatever its own shape, into one tensor for each request, as views: each of `shape`, in which −1 takes the size that the
 * request's `source` has at the same position.
 *
 * @throws InferError UNIMPLEMENTED when the output has not exactly as many elements as these shapes
 */
export const scatterOutput = (
  name: string,
  { datatype, shape: got, buffer, start, end }: Tensor,
  shape: Shape,
  source: string,
  requests: readonly InferRequest[],
): readonly Tensor[] => {
  const shapes = requests.map(({ inputs }) => {
    const given = inputs.get(source)?.shape ?? [];
    return shape.map((size, axis) => (size === -1 ? (given[axis] ?? 0) : size));
  });
  const wanted = shapes.reduce((sum, one) => sum + elementCount(one), 0);
  if (wanted !== elementCount(got)) throw unlike(name, wanted, got);
  let from = start;
  return shapes.map((one) => {
    const count = elementCount(one);
    const to = datatype === 'BYTES' ? skipBytesElements(buffer, from, end, count) : from + count * elementByteSize(datatype);
    const piece = new Tensor(datatype, one, buffer, from, to);
    from = to;
    return piece;
  });
};

const unlike = (name: string, wanted: number, got: Shape): InferError => {
  const message = `failed to split the output tensor '${name}' in responses: expected ${wanted} elements in model output, got ${elementCount(got)} in shape ${formatShape(got)}`;
  return new InferError('UNIMPLEMENTED', message, { reason: 'BACKEND' });
};
