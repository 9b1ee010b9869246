import { InferError } from '../../streams/inference/error.ts';
import type { BatchInputKind, InputSpec, ModelSpec, TensorSpec } from '../../streams/inference/model-spec.ts';
import type { Datatype } from '../../streams/tensors/datatype.ts';
import type { Shape } from '../../streams/tensors/shape.ts';
import { highestRank } from './slot-memory.ts';
import type { InputPort, ModelPorts, OutputPort, Port } from './worker-protocol.ts';

/**
 * The tensors that batches of a model bring and take, as the model itself has them: those of clients, and what the server adds to them.
 *
 * @throws InferError for what its config asks and onnxruntime-node cannot do
 */
export const modelPorts = (spec: ModelSpec): ModelPorts => {
  const batches = spec.maxBatchSize > 0;
  if (batches) for (const input of spec.inputs) refuseOptional(spec, input);
  const inputs = firstOfName([...serverInputs(spec), ...clientInputs(spec)]);
  return {
    inputs: [...inputs.filter(({ datatype }) => datatype !== 'BYTES'), ...inputs.filter(({ datatype }) => datatype === 'BYTES')],
    outputs: firstOfName(outputPorts(spec)),
    batches,
  };
};

/** A config may list among the clients' inputs what the server gives, and among the outputs what is a state. */
const firstOfName = <T extends Port>(ports: readonly T[]): readonly T[] =>
  [...new Map(ports.toReversed().map((port) => [port.name, port])).values()].toReversed();

const portOf = (spec: ModelSpec, name: string, datatype: Datatype, shape: Shape): Port => {
  if (datatype === 'BF16') throw cannotCarry(spec, `tensor '${name}' has datatype BF16`);
  if (shape.length > highestRank) throw cannotCarry(spec, `tensor '${name}' has more than ${highestRank} dimensions`);
  return { name, datatype, shape };
};

const rowsOf = (spec: ModelSpec, dims: Shape): Shape => (spec.maxBatchSize > 0 ? [-1, ...dims] : dims);

const shapeOf = (spec: ModelSpec, { dims, reshape }: TensorSpec): Shape => rowsOf(spec, reshape ?? dims);

const clientInputs = (spec: ModelSpec): readonly InputPort[] =>
  spec.inputs.map((input) => ({
    ...portOf(spec, input.name, input.datatype, input.allowRagged ? [-1] : shapeOf(spec, input)),
    form: input.allowRagged ? 'ragged' : 'rows',
  }));

/** Control inputs, states and the mask of padding come with each request, tensors of `batch_input` with the batch. */
const serverInputs = (spec: ModelSpec): readonly InputPort[] => {
  const { controls = [], states = [] } = spec.sequenceBatching ?? {};
  const { padding } = spec.batchOptions;
  const padded = spec.inputs.find(({ name }) => name === padding?.inputs[0]);
  const rows = (name: string, datatype: Datatype, shape: Shape): InputPort => ({ ...portOf(spec, name, datatype, shape), form: 'rows' });
  return [
    ...controls.map(({ name, datatype }) => rows(name, datatype, rowsOf(spec, [1]))),
    ...states.map(({ inputName, datatype, dims }) => rows(inputName, datatype, rowsOf(spec, dims))),
    ...(padding?.mask === undefined || padded === undefined ? [] : [rows(padding.mask.name, padding.mask.datatype, shapeOf(spec, padded))]),
    ...spec.batchInputs.flatMap(({ kind, names, datatype }) =>
      names.map((name): InputPort => ({ ...portOf(spec, name, datatype, wholeShape(kind)), form: 'whole' })),
    ),
  ];
};

const wholeShape = (kind: BatchInputKind): Shape => (kind === 'BATCH_ITEM_SHAPE' ? [-1, -1] : [-1]);

/** A sequence's next step needs its states, whatever outputs the config has. One that has no output keeps its first value. */
const outputPorts = (spec: ModelSpec): readonly OutputPort[] => [
  ...spec.outputs.map((output) => ({
    ...portOf(spec, output.name, output.datatype, shapeOf(spec, output)),
    source: spec.batchOutputs.find(({ names }) => names.includes(output.name))?.source,
  })),
  ...(spec.sequenceBatching?.states ?? [])
    .filter(({ outputName }) => outputName !== '')
    .map(({ outputName, datatype, dims }) => ({ ...portOf(spec, outputName, datatype, rowsOf(spec, dims)), source: undefined })),
];

const cannotCarry = (spec: ModelSpec, what: string): InferError =>
  new InferError('UNIMPLEMENTED', `unable to load model '${spec.name}', ${what}, which onnxruntime-node cannot carry`);

const refuseOptional = (spec: ModelSpec, { name, optional }: InputSpec): void => {
  if (!optional) return;
  throw new InferError(
    'INVALID_ARGUMENT',
    `unable to load model '${spec.name}', optional input '${name}' is not supported for models that support batching`,
  );
};
