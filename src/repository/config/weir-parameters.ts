import type { BatchOptions, Padding } from '../../streams/inference/model-spec.ts';
import type { Datatype } from '../../streams/tensors/datatype.ts';
import { datatypeOf } from './datatypes.ts';

/** Weir's own `parameters` of a model, and what each is for. */
export const weirParameters = {
  weir_batch_group_by: 'requests batch only with an equal value of this request parameter, or all without one',
  weir_batch_unequal_shapes: '`true`: requests of unequal shapes share an execution, for backends that take requests one by one',
  weir_pad_inputs: 'inputs, with commas between, whose -1 dimensions are filled up to the longest of the batch',
  weir_pad_value: 'the number that fills them, 0 unless given',
  weir_pad_mask:
    "an input of the model that clients do not send, as `name` or `name:TYPE_INT64`: 1 where an element of the first padded input is the client's",
  weir_pad_outputs: 'outputs, with commas between, whose -1 dimensions are cut back to those of the first padded input',
  weir_sequence_end_on_idle: '`true`: a sequence that ends by being idle gets a last step with END, whose answer nobody sees',
} as const;

export type WeirParameter = keyof typeof weirParameters;

type Values = Pick<ReadonlyMap<WeirParameter, string>, 'get'>;

/** `a, b` as its names. */
export const namesIn = (value: string): readonly string[] =>
  value
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');

const isTrue = (value: string | undefined): boolean => value?.toLowerCase() === 'true';

/** `name:TYPE_INT64`, where the type may be left out. Undefined for a type that no mask can have. */
export const maskOf = (value: string): { readonly name: string; readonly datatype: Datatype } | undefined => {
  const colon = value.lastIndexOf(':TYPE_');
  const name = colon === -1 ? value : value.slice(0, colon);
  const datatype = colon === -1 ? 'INT64' : datatypeOf(value.slice(colon + 1));
  return name === '' || datatype === undefined || datatype === 'BYTES' ? undefined : { name, datatype };
};

const paddingOf = (values: Values): Padding | undefined => {
  const inputs = namesIn(values.get('weir_pad_inputs') ?? '');
  if (inputs.length === 0) return undefined;
  return {
    inputs,
    value: Number(values.get('weir_pad_value') ?? '0'),
    mask: maskOf(values.get('weir_pad_mask') ?? ''),
    outputs: namesIn(values.get('weir_pad_outputs') ?? ''),
  };
};

/** How Weir's own parameters, once checked, have requests share an execution. */
export const batchOptionsOf = (values: Values): BatchOptions => ({
  groupByParameter: values.get('weir_batch_group_by'),
  unequalShapes: isTrue(values.get('weir_batch_unequal_shapes')),
  padding: paddingOf(values),
});

/** Whether a sequence that ends by being idle gets one last step. */
export const endsIdleWithStep = (values: Values): boolean => isTrue(values.get('weir_sequence_end_on_idle'));
