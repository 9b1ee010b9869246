import { configTypeOf } from './datatypes.ts';
import type { ConfigBatchInput, ConfigControl, ConfigState, ConfigTensor, Int64, ModelConfig } from './model-config.ts';
import { idsOf } from './sequence-ids.ts';
import { maskOf, namesIn } from './weir-parameters.ts';

/** An input of the model that the server gives it: clients do not send it, and the config's `input` does not list it. */
export interface ServerInput {
  readonly kind: 'sequence control' | 'state input' | 'batch input' | 'padding mask';
  readonly name: string;
  /** Where the config asks for it. */
  readonly field: string;
  readonly data_type: string;
  /** As the model is given it, −1 for any size; undefined where the config names an input that there is not. */
  readonly shape: readonly Int64[] | undefined;
}

const dimsOf = ({ dims, reshape }: ConfigTensor): readonly Int64[] => reshape?.shape ?? dims;

const rowsOf = ({ max_batch_size }: ModelConfig, dims: readonly Int64[]): readonly Int64[] => (max_batch_size > 0 ? [-1, ...dims] : dims);

/** Undefined for a control that says nothing. */
const typeOf = (control: ConfigControl | undefined): string | undefined => {
  if (control === undefined) return undefined;
  if (control.kind === 'CONTROL_SEQUENCE_CORRID') return idsOf(control.data_type) === undefined ? undefined : control.data_type;
  if (control.int32_false_true.length > 0) return 'TYPE_INT32';
  return control.fp32_false_true.length > 0 ? 'TYPE_FP32' : 'TYPE_BOOL';
};

const controls = (config: ModelConfig): readonly ServerInput[] =>
  (config.sequence_batching?.control_input ?? []).flatMap(({ name, control }, index) => {
    const data_type = typeOf(control[0]);
    const field = `sequence_batching.control_input[${index}]`;
    return data_type === undefined ? [] : [{ kind: 'sequence control', name, field, data_type, shape: rowsOf(config, [1]) }];
  });

/** What a state begins with: it may take other sizes later, where its dims are of any size. */
const firstDims = ({ dims, initial_state: [initial] }: ConfigState): readonly Int64[] =>
  initial?.dims ?? dims.map((size) => (size === -1 ? 1 : size));

const states = (config: ModelConfig): readonly ServerInput[] =>
  (config.sequence_batching?.state ?? []).flatMap((state, index) => {
    const { input_name: name, data_type } = state;
    const field = `sequence_batching.state[${index}]`;
    // A state without datatype is not given to the model.
    return data_type === 'TYPE_INVALID' ? [] : [{ kind: 'state input', name, field, data_type, shape: rowsOf(config, firstDims(state)) }];
  });

const wholeShape = (config: ModelConfig, { kind, source_input }: ConfigBatchInput): readonly Int64[] | undefined => {
  const source = config.input.find(({ name }) => name === source_input[0]);
  if (source === undefined) return undefined;
  return kind === 'BATCH_ITEM_SHAPE' ? [-1, dimsOf(source).length] : [-1];
};

const batchInputs = (config: ModelConfig): readonly ServerInput[] =>
  config.batch_input.flatMap((input, index) =>
    input.target_name.map((name) => ({
      kind: 'batch input',
      name,
      field: `batch_input[${index}]`,
      data_type: input.data_type,
      shape: wholeShape(config, input),
    })),
  );

const masks = (config: ModelConfig): readonly ServerInput[] => {
  const [first = ''] = namesIn(config.parameters.weir_pad_inputs?.string_value ?? '');
  const padded = config.input.find(({ name }) => name === first);
  const mask = maskOf(config.parameters.weir_pad_mask?.string_value ?? '');
  if (mask === undefined) return [];
  const shape = padded === undefined ? undefined : rowsOf(config, dimsOf(padded));
  const field = 'parameters["weir_pad_mask"]';
  return [{ kind: 'padding mask', name: mask.name, field, data_type: configTypeOf(mask.datatype), shape }];
};

/** Every input that the server gives to the model beside those of clients. */
export const serverInputs = (config: ModelConfig): readonly ServerInput[] => [
  ...controls(config),
  ...states(config),
  ...batchInputs(config),
  ...masks(config),
];

/** Names of outputs of which the next step of a sequence is made. */
export const stateOutputs = ({ sequence_batching }: ModelConfig): readonly string[] =>
  (sequence_batching?.state ?? []).map(({ output_name }) => output_name).filter((name) => name !== '');
