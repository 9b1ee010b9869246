import type { Parameters } from '../../streams/inference/parameters.ts';
import type { Datatype } from '../../streams/tensors/datatype.ts';
import type { CallAnswer } from './model-call.ts';
import { ModelError } from './model-module.ts';
import type { ModelTensor } from './model-tensor.ts';
import { TensorView, withDatatype } from './tensor-view.ts';
import { fromWireParameters } from './wire-parameters.ts';
import type { CallAnswered } from './worker-protocol.ts';

/** An answer of another model, in memory that is this thread's alone. */
export class ReceivedAnswer implements CallAnswer {
  readonly modelName: string;
  readonly modelVersion: string;
  readonly id: string;
  readonly parameters: Parameters;
  readonly isLast: boolean;
  readonly #outputs: ReadonlyMap<string, TensorView>;

  constructor({ modelName, modelVersion, id, parameters, isLast, outputs, memory }: CallAnswered) {
    this.modelName = modelName;
    this.modelVersion = modelVersion;
    this.id = id;
    this.parameters = new Map(fromWireParameters(parameters));
    this.isLast = isLast;
    const buffer = Buffer.from(memory);
    this.#outputs = new Map(
      outputs.map(({ name, datatype, shape, start, end }) => [name, new TensorView(datatype, shape, buffer, start, end)]),
    );
  }

  get outputNames(): readonly string[] {
    return [...this.#outputs.keys()];
  }

  output<D extends Datatype>(name: string, datatype?: D): ModelTensor<D> {
    const view = this.#outputs.get(name);
    if (view === undefined) throw new ModelError(`the answer of model '${this.modelName}' has no output '${name}'`);
    return withDatatype(name, view, datatype);
  }
}
