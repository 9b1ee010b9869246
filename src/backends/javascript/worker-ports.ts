import type { InputPort, ModelPorts, OutputPort } from './model-ports.ts';

/** The ports of a model, by place and by name. */
export interface WorkerPorts extends ModelPorts {
  readonly inputIndex: ReadonlyMap<string, number>;
  readonly wholeIndex: ReadonlyMap<string, number>;
  readonly outputIndex: ReadonlyMap<string, number>;
}

const indexOf = (ports: readonly (InputPort | OutputPort)[]): ReadonlyMap<string, number> =>
  new Map(ports.map(({ name }, index) => [name, index]));

export const workerPorts = (ports: ModelPorts): WorkerPorts => ({
  ...ports,
  inputIndex: indexOf(ports.inputs),
  wholeIndex: indexOf(ports.wholes),
  outputIndex: indexOf(ports.outputs),
});
