import { InferError } from '../streams/inference/error.ts';
import type { ModelSpec } from '../streams/inference/model-spec.ts';
import type { ParameterValue } from '../streams/inference/parameters.ts';
import type { InferRequest, RequestedOutput } from '../streams/inference/request.ts';
import type { Datatype } from '../streams/tensors/datatype.ts';
import type { Shape } from '../streams/tensors/shape.ts';
import { Tensor } from '../streams/tensors/tensor.ts';
import { tensorFrom } from '../streams/tensors/tensor-from-values.ts';

/** Values for an input. */
export interface InputValues {
  /** With the batch dimension where the model has one. */
  readonly shape: Shape;
  /** In row-major order: see `tensorFrom`. */
  readonly values: Parameters<typeof tensorFrom>[2];
  /** The model's own unless given. */
  readonly datatype?: Datatype;
}

/** What a program asks of a model. Only `inputs` must be given. */
export interface Question {
  /** By name. A typed array or a Tensor is read where it is: leave it alone until the answer has come. */
  readonly inputs: Readonly<Record<string, Tensor | InputValues>>;
  readonly id?: string;
  /** Outputs wanted; every one of the model unless given. */
  readonly outputs?: readonly (string | RequestedOutput)[];
  readonly parameters?: Readonly<Record<string, ParameterValue>>;
  readonly sequenceId?: bigint | string;
  readonly sequenceStart?: boolean;
  readonly sequenceEnd?: boolean;
  readonly priority?: bigint;
  readonly timeoutMicroseconds?: bigint;
}

const inputTensor = (spec: ModelSpec, name: string, given: Tensor | InputValues): Tensor => {
  if (given instanceof Tensor) return given;
  const datatype = given.datatype ?? spec.inputs.find((input) => input.name === name)?.datatype;
  if (datatype === undefined) throw new InferError('INVALID_ARGUMENT', `unexpected inference input '${name}' for model '${spec.name}'`);
  try {
    return tensorFrom(datatype, given.shape, given.values);
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause);
    throw new InferError('INVALID_ARGUMENT', `input '${name}' for model '${spec.name}': ${message}`, { cause });
  }
};

/** The request that a question is. @throws InferError INVALID_ARGUMENT for values that do not make a tensor */
export const requestOf = (spec: ModelSpec, question: Question): InferRequest => ({
  modelName: spec.name,
  modelVersion: spec.version,
  id: question.id ?? '',
  inputs: new Map(Object.entries(question.inputs).map(([name, given]) => [name, inputTensor(spec, name, given)])),
  outputs: (question.outputs ?? []).map((output) => (typeof output === 'string' ? { name: output, classification: 0 } : output)),
  parameters: new Map(Object.entries(question.parameters ?? {})),
  sequenceId: question.sequenceId ?? 0n,
  sequenceStart: question.sequenceStart ?? false,
  sequenceEnd: question.sequenceEnd ?? false,
  priority: question.priority ?? 0n,
  timeoutMicroseconds: question.timeoutMicroseconds ?? 0n,
});
