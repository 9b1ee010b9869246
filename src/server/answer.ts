import type { InferError } from '../streams/inference/error.ts';
import type { Parameters } from '../streams/inference/parameters.ts';
import type { InferResponse } from '../streams/inference/response.ts';
import { copyTensor } from '../streams/tensors/copy-tensor.ts';
import type { Tensor, Tensors } from '../streams/tensors/tensor.ts';
import { tensorStrings, tensorValues } from '../streams/tensors/tensor-values.ts';

/** One answer of a model, with memory of its own: it stays as it is for as long as the program keeps it. */
export class Answer {
  readonly modelName: string;
  /** The version that ran. */
  readonly modelVersion: string;
  readonly id: string;
  readonly parameters: Parameters;
  readonly outputs: Tensors;
  /** True when the model knows that no other follows; the Observable's completion says so in any case. */
  readonly isLast: boolean;
  /** Set for one that the model has failed to give, where others may follow; it has no outputs then. */
  readonly error: InferError | undefined;

  constructor(response: InferResponse) {
    this.modelName = response.modelName;
    this.modelVersion = response.modelVersion;
    this.id = response.id;
    this.parameters = response.parameters;
    // The model's memory is used again after `next()`: this is the one copy of the way out.
    this.outputs = new Map(Array.from(response.outputs, ([name, tensor]) => [name, copyTensor(tensor)]));
    this.isLast = response.isLast;
    this.error = response.error;
  }

  /** @throws RangeError when the answer has no such output */
  tensor(name: string): Tensor {
    const tensor = this.outputs.get(name);
    if (tensor !== undefined) return tensor;
    const names = [...this.outputs.keys()].map((each) => `'${each}'`).join(', ');
    throw new RangeError(`model '${this.modelName}' gave no output '${name}'; it gave ${names === '' ? 'none' : names}`);
  }

  /** Elements in row-major order: see `tensorValues`. */
  values(name: string): ReturnType<typeof tensorValues> {
    return tensorValues(this.tensor(name));
  }

  /** Elements of a BYTES output as text. */
  strings(name: string): string[] {
    return tensorStrings(this.tensor(name));
  }
}
