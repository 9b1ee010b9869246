import type { ModelSpec, TensorSpec } from '../../streams/inference/model-spec.ts';
import type { Datatype } from '../../streams/tensors/datatype.ts';
import { tensorFrom } from '../../streams/tensors/tensor-from-values.ts';

export type PaddedSpec = Pick<ModelSpec, 'name' | 'maxBatchSize' | 'inputs' | 'outputs' | 'batchOptions'>;

/** A tensor of which some dimensions are any size. */
export interface VariableTensor {
  readonly name: string;
  readonly datatype: Datatype;
  /** With the batch dimension. */
  readonly rank: number;
  /** Its dimensions of any size; the batch dimension is none of them. */
  readonly axes: readonly number[];
  /** The bytes of one element. */
  readonly filling: Uint8Array;
}

/** What padding needs to know of a model, made once. */
export interface PaddingPlan {
  readonly model: string;
  /** Whose sizes the mask and the outputs follow. */
  readonly first: VariableTensor;
  /** The first among them. */
  readonly inputs: readonly VariableTensor[];
  readonly mask: { readonly name: string; readonly datatype: Datatype; readonly one: Uint8Array } | undefined;
  readonly outputs: readonly VariableTensor[];
}

/** Undefined for a model that does not pad. */
export const paddingPlan = ({ name: model, maxBatchSize, inputs, outputs, batchOptions }: PaddedSpec): PaddingPlan | undefined => {
  const { padding } = batchOptions;
  if (padding === undefined) return undefined;
  const batchAxes = maxBatchSize > 0 ? 1 : 0;
  const variable = ({ name, datatype, dims, reshape }: TensorSpec, value: number): VariableTensor => {
    const shape = reshape ?? dims;
    const axes = shape.flatMap((size, axis) => (size === -1 ? [axis + batchAxes] : []));
    return { name, datatype, rank: shape.length + batchAxes, axes, filling: elementOf(datatype, value) };
  };
  const variables = (tensors: readonly TensorSpec[], names: readonly string[], value: number): VariableTensor[] =>
    names.flatMap((name) => tensors.filter((tensor) => tensor.name === name).map((tensor) => variable(tensor, value)));
  const padded = variables(inputs, padding.inputs, padding.value);
  const [first] = padded;
  if (first === undefined) return undefined;
  const { mask } = padding;
  return {
    model,
    first,
    inputs: padded,
    mask: mask === undefined ? undefined : { ...mask, one: elementOf(mask.datatype, 1) },
    outputs: variables(outputs, padding.outputs, 0),
  };
};

/** Strings are filled up with empty ones: the config of such a model has no other value. */
const elementOf = (datatype: Datatype, value: number): Uint8Array => {
  if (datatype === 'BYTES') return tensorFrom(datatype, [1], ['']).bytes;
  return tensorFrom(datatype, [1], [datatype === 'BOOL' ? value !== 0 : value]).bytes;
};
