import type { Part } from '../../streams/inference/backend.ts';
import { InferError } from '../../streams/inference/error.ts';
import type { InferRequest } from '../../streams/inference/request.ts';
import { elementByteSize } from '../../streams/tensors/datatype.ts';
import { elementCount, type Shape } from '../../streams/tensors/shape.ts';
import { Tensor } from '../../streams/tensors/tensor.ts';
import { cutPart, hasSizes, withSizes } from './cut-part.ts';
import { type PaddedSpec, type PaddingPlan, paddingPlan, type VariableTensor } from './padding-plan.ts';
import { resizeTensor, visitOverlap } from './resize-tensor.ts';

/** A batch whose requests are all as long as the longest. */
export interface PaddedBatch {
  readonly requests: readonly InferRequest[];
  /** An answer to one of them, without what was filled up. */
  cut(part: Part): Part;
}

/** Two requests that are long along different axes make a batch that is far larger than both. */
const largestTensorBytes = 2 ** 30;

/**
 * Padding as a model's parameters ask for it; undefined for a model that does not pad. Every padded input is filled up, along its dimensions of
 * any size, to the longest of the batch; BYTES with empty strings. The mask has the shape of the first of them and becomes one more input of
 * each request. Of the answers, outputs that are listed are cut back to what the client's first padded input had. What has its size
 * already is not copied; the rest is, once.
 *
 * What it returns throws an InferError, RESOURCE_EXHAUSTED, for an input that would take more than 1 GiB.
 */
export const padBatch = (spec: PaddedSpec): ((requests: readonly InferRequest[]) => PaddedBatch) | undefined => {
  const plan = paddingPlan(spec);
  if (plan === undefined) return undefined;
  return (requests) => {
    const longest = plan.inputs.map((input) => longestOf(plan.model, input, requests));
    return {
      requests: requests.map((request) => fillUp(plan, longest, request)),
      cut: (part) => {
        const given = requests[part.of]?.inputs.get(plan.first.name)?.shape;
        return given === undefined ? part : cutPart(plan, longest[0] ?? [], given, part);
      },
    };
  };
};

/** Of each of the input's axes of any size, what all requests fit into. */
const longestOf = (model: string, { name, datatype, axes }: VariableTensor, requests: readonly InferRequest[]): Shape => {
  const longest = axes.map(() => 0);
  let itemsOfOne = 0;
  for (const { inputs } of requests) {
    const shape = inputs.get(name)?.shape;
    if (shape === undefined) continue;
    itemsOfOne += elementCount(
      withSizes(
        shape,
        axes,
        axes.map(() => 1),
      ),
    );
    for (const [index, axis] of axes.entries()) longest[index] = Math.max(longest[index] ?? 0, shape[axis] ?? 0);
  }
  const sizeBytes = itemsOfOne * elementCount(longest) * Math.max(1, elementByteSize(datatype));
  if (sizeBytes <= largestTensorBytes) return longest;
  const message = `input '${name}' of a batch of model '${model}', filled up to its longest request, would take ${sizeBytes} bytes, more than ${largestTensorBytes}`;
  throw new InferError('RESOURCE_EXHAUSTED', message);
};

const fillUp = (plan: PaddingPlan, longest: readonly Shape[], request: InferRequest): InferRequest => {
  const inputs = new Map(request.inputs);
  for (const [index, { name, axes, filling }] of plan.inputs.entries()) {
    const tensor = inputs.get(name);
    if (tensor === undefined) continue;
    const sizes = longest[index] ?? [];
    const isLong = hasSizes(tensor.shape, axes, sizes);
    const shape = isLong ? tensor.shape : withSizes(tensor.shape, axes, sizes);
    if (!isLong) inputs.set(name, resizeTensor(tensor, shape, filling));
    if (index === 0 && plan.mask !== undefined) inputs.set(plan.mask.name, maskOf(plan.mask, tensor.shape, shape));
  }
  return { ...request, inputs };
};

const maskOf = ({ datatype, one }: NonNullable<PaddingPlan['mask']>, given: Shape, shape: Shape): Tensor => {
  const size = elementByteSize(datatype);
  const target = Buffer.alloc(elementCount(shape) * size);
  visitOverlap(given, shape, (_given, at, count) => {
    target.fill(one, at * size, (at + count) * size);
  });
  return new Tensor(datatype, shape, target);
};
