import type { BatchInput, ModelSpec } from '../../streams/inference/model-spec.ts';
import type { InferRequest } from '../../streams/inference/request.ts';
import { elementCount, type Shape } from '../../streams/tensors/shape.ts';
import { Tensor, type Tensors } from '../../streams/tensors/tensor.ts';

/** Tensors of a whole batch, by name, from its requests and the rows of each. */
type WholeInputs = (requests: readonly InferRequest[], rows: readonly number[]) => Tensors;

/** What is known of the source in each request of a batch; `[]` where a request is without it. */
interface Sources {
  readonly shapes: readonly Shape[];
  readonly rows: readonly number[];
  /** Dimensions before those of an item: 1 where the model batches. */
  readonly batchAxes: number;
}

type Values = Int32Array | Float32Array;

/** The shape of the tensor, and its values in order; those that are not given are 0. */
interface Contents {
  readonly shape: Shape;
  readonly values: Iterable<number>;
}

/**
 * The `batch_input` tensors of a config, which tell a model what the requests' own inputs were before they were laid end to end. With R
 * requests of B rows in all:
 * - BATCH_ELEMENT_COUNT [R], BATCH_ACCUMULATED_ELEMENT_COUNT [R], BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO [R+1]: elements of the source, all
 *   rows of a request counted,
 * - BATCH_MAX_ELEMENT_COUNT_AS_SHAPE [largest count]: zeros,
 * - BATCH_ITEM_SHAPE [B, rank − 1], BATCH_ITEM_SHAPE_FLATTEN [B · (rank − 1)]: the source's shape without the batch dimension, for each row. A model
 *   without batch dimension has one item of the whole shape.
 *
 * Undefined for a model that has none.
 */
export const raggedBatch = ({ batchInputs, maxBatchSize }: Pick<ModelSpec, 'batchInputs' | 'maxBatchSize'>): WholeInputs | undefined => {
  if (batchInputs.length === 0) return undefined;
  const batchAxes = maxBatchSize > 0 ? 1 : 0;
  return (requests, rows) => {
    const tensors = new Map<string, Tensor>();
    for (const batchInput of batchInputs) {
      const shapes = requests.map(({ inputs }) => inputs.get(batchInput.source)?.shape ?? noShape);
      const tensor = tensorOf(batchInput, contentsOf(batchInput, { shapes, rows, batchAxes }));
      for (const name of batchInput.names) tensors.set(name, tensor);
    }
    return tensors;
  };
};

const noShape: Shape = [];

const countOf = (shape: Shape): number => (shape === noShape ? 0 : elementCount(shape));

const contentsOf = ({ kind }: BatchInput, sources: Sources): Contents => {
  switch (kind) {
    case 'BATCH_ELEMENT_COUNT':
      return flat(sources.shapes.map(countOf));
    case 'BATCH_ACCUMULATED_ELEMENT_COUNT':
      return flat(sums(sources.shapes));
    case 'BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO':
      return flat([0, ...sums(sources.shapes)]);
    case 'BATCH_MAX_ELEMENT_COUNT_AS_SHAPE':
      return { shape: [Math.max(0, ...sources.shapes.map(countOf))], values: [] };
    case 'BATCH_ITEM_SHAPE': {
      const items = itemShapes(sources);
      return { shape: [items.length, items[0]?.length ?? 0], values: items.flat() };
    }
    case 'BATCH_ITEM_SHAPE_FLATTEN':
      return flat(itemShapes(sources).flat());
  }
};

const flat = (values: readonly number[]): Contents => ({ shape: [values.length], values });

const sums = (shapes: readonly Shape[]): number[] => {
  let sum = 0;
  return shapes.map((shape) => (sum += countOf(shape)));
};

const itemShapes = ({ shapes, rows, batchAxes }: Sources): Shape[] =>
  shapes.flatMap((shape, of) => Array<Shape>(rows[of] ?? 0).fill(shape.slice(batchAxes)));

const tensorOf = ({ datatype }: BatchInput, { shape, values }: Contents): Tensor => {
  const count = elementCount(shape);
  const view: Values = datatype === 'INT32' ? new Int32Array(count) : new Float32Array(count);
  let index = 0;
  for (const value of values) view[index++] = value;
  return new Tensor(datatype, shape, new Uint8Array(view.buffer));
};
