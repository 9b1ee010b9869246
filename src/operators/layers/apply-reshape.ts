import { map } from 'rxjs';
import { InferError } from '../../streams/inference/error.ts';
import type { Infer, Layer } from '../../streams/inference/infer.ts';
import type { ModelSpec, TensorSpec } from '../../streams/inference/model-spec.ts';
import type { InferResponse } from '../../streams/inference/response.ts';
import { formatShape, type Shape } from '../../streams/tensors/shape.ts';
import { Tensor, type Tensors } from '../../streams/tensors/tensor.ts';

/** Shapes with the batch dimension, as −1, where the model batches. */
interface Reshaping {
  readonly from: Shape;
  readonly to: Shape;
}

type Reshapings = ReadonlyMap<string, Reshaping>;

/**
 * Gives inputs the shapes of the config's `reshape` on the way in, and outputs those of its `dims` on the way out; the bytes stay where they
 * are. Each −1 takes the size of the next −1 on the other side, so that a batch dimension is kept. An output that has not the
 * rank of its reshape fails its request with INTERNAL.
 */
export const applyReshape = (spec: ModelSpec): Layer => {
  const batch = spec.maxBatchSize > 0 ? [-1] : [];
  const inward: Reshapings = new Map(reshaped(spec.inputs).map(([name, dims, reshape]) => [name, withBatch(batch, dims, reshape)]));
  const outward: Reshapings = new Map(reshaped(spec.outputs).map(([name, dims, reshape]) => [name, withBatch(batch, reshape, dims)]));
  const restore = map((response: InferResponse) => ({ ...response, outputs: reshapeAll(spec.name, outward, response.outputs) }));
  return (next) => {
    const inner: Infer =
      inward.size === 0 ? next : (request) => next({ ...request, inputs: reshapeAll(spec.name, inward, request.inputs) });
    return outward.size === 0 ? inner : (request) => inner(request).pipe(restore);
  };
};

const reshaped = (tensors: readonly TensorSpec[]): (readonly [name: string, dims: Shape, reshape: Shape])[] =>
  tensors.flatMap(({ name, dims, reshape }) => (reshape === undefined ? [] : [[name, dims, reshape] as const]));

const withBatch = (batch: Shape, from: Shape, to: Shape): Reshaping => ({ from: [...batch, ...from], to: [...batch, ...to] });

const reshapeAll = (model: string, reshapings: Reshapings, tensors: Tensors): Tensors => {
  const all = new Map<string, Tensor>();
  for (const [name, tensor] of tensors) {
    const reshaping = reshapings.get(name);
    all.set(name, reshaping === undefined ? tensor : reshapeOne(model, name, reshaping, tensor));
  }
  return all;
};

const reshapeOne = (model: string, name: string, { from, to }: Reshaping, tensor: Tensor): Tensor => {
  const { datatype, shape, buffer, start, end } = tensor;
  if (shape.length !== from.length) {
    throw new InferError(
      'INTERNAL',
      `unexpected shape for tensor '${name}' of model '${model}'. Expected ${formatShape(from)}, got ${formatShape(shape)}`,
    );
  }
  const variable = shape.filter((_size, axis) => from[axis] === -1);
  let used = 0;
  const shapeNow = to.map((size) => (size === -1 ? (variable[used++] ?? 1) : size));
  return new Tensor(datatype, shapeNow, buffer, start, end);
};
