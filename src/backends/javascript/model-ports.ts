import type { ModelSpec, TensorSpec } from '../../streams/inference/model-spec.ts';
import type { Datatype } from '../../streams/tensors/datatype.ts';
import type { Shape } from '../../streams/tensors/shape.ts';

/** The tensors that batches of a model bring and take. What a batch says of one names it by its place here. */
export interface ModelPorts {
  /** Of requests: those of clients, then those that the server adds. */
  readonly inputs: readonly InputPort[];
  /** Of whole batches. */
  readonly wholes: readonly InputPort[];
  readonly outputs: readonly OutputPort[];
}

export interface InputPort {
  readonly name: string;
  readonly datatype: Datatype;
}

export interface OutputPort extends InputPort {
  /** As the model has it, batch dimension included; −1 for any size. */
  readonly shape: Shape;
  /** The server needs it, whatever the caller wants. */
  readonly isState: boolean;
}

/** A config may list among the clients' inputs what the server gives, and among the outputs what is a state. */
const firstOfName = <T extends InputPort>(ports: readonly T[]): readonly T[] =>
  [...new Map(ports.toReversed().map((port) => [port.name, port])).values()].toReversed();

const portOf = ({ name, datatype }: InputPort): InputPort => ({ name, datatype });

export const modelPorts = (spec: ModelSpec): ModelPorts => {
  const { controls = [], states = [] } = spec.sequenceBatching ?? {};
  const { padding } = spec.batchOptions;
  const rowsOf = (dims: Shape): Shape => (spec.maxBatchSize > 0 ? [-1, ...dims] : dims);
  const shapeOf = ({ dims, reshape }: TensorSpec): Shape => rowsOf(reshape ?? dims);
  const isState = (name: string): boolean => states.some(({ outputName }) => outputName === name);
  return {
    inputs: firstOfName([
      ...spec.inputs.map(portOf),
      ...controls.map(portOf),
      ...states.map(({ inputName, datatype }) => ({ name: inputName, datatype })),
      ...(padding?.mask === undefined ? [] : [portOf(padding.mask)]),
    ]),
    wholes: spec.batchInputs.flatMap(({ names, datatype }) => names.map((name) => ({ name, datatype }))),
    outputs: firstOfName([
      ...spec.outputs.map((output) => ({ ...portOf(output), shape: shapeOf(output), isState: isState(output.name) })),
      ...states
        .filter(({ outputName }) => outputName !== '')
        .map(({ outputName, datatype, dims }) => ({ name: outputName, datatype, shape: rowsOf(dims), isState: true })),
    ]),
  };
};
