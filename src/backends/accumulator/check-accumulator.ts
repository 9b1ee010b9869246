import { InferError } from '../../streams/inference/error.ts';
import { expectTensors } from '../../streams/inference/expect-tensors.ts';
import type { ModelSpec } from '../../streams/inference/model-spec.ts';

const tensors = {
  inputs: [{ name: 'INPUT', datatype: 'INT32', dims: [-1] }],
  outputs: [{ name: 'OUTPUT', datatype: 'INT32', dims: [-1] }],
} as const;

/** Control inputs are named as their kinds. */
export type AccumulatorControls = readonly ('START' | 'END' | 'READY' | 'CORRID')[];

const quoted = (names: AccumulatorControls): string => {
  const all = names.map((name) => `'${name}'`);
  return `${all.slice(0, -1).join(', ')} and ${all.at(-1)}`;
};

/** @throws InferError INVALID_ARGUMENT for a model without these controls, all of them and no others, or without the one input and output */
export const checkAccumulator = (spec: ModelSpec, wanted: AccumulatorControls): void => {
  const controls = spec.sequenceBatching?.controls ?? [];
  const hasAll = wanted.every((kind) => controls.some((control) => control.kind === kind && control.name === kind));
  if (!hasAll || controls.length !== wanted.length) {
    throw new InferError('INVALID_ARGUMENT', `${quoted(wanted)} must be configured as the control inputs`);
  }
  const id = controls.find(({ kind }) => kind === 'CORRID');
  if (id !== undefined && id.datatype !== 'UINT64' && id.datatype !== 'BYTES') {
    throw new InferError('INVALID_ARGUMENT', 'model CORRID control input must have TYPE_UINT64 or TYPE_STRING data-type');
  }
  expectTensors(spec, tensors);
  const [size, other] = [...spec.inputs, ...spec.outputs].map(({ dims, reshape }) => (reshape ?? dims)[0]);
  if (size !== other) throw new InferError('INVALID_ARGUMENT', "model must have output 'OUTPUT' with shape matching 'INPUT'");
};
