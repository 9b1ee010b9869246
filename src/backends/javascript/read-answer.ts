import type { Part } from '../../streams/inference/backend.ts';
import { InferError } from '../../streams/inference/error.ts';
import { noParameters } from '../../streams/inference/parameters.ts';
import { Tensor, type Tensors } from '../../streams/tensors/tensor.ts';
import { type AnswerExtras, answerFields, answerFlags, answerWords, outputWords } from './batch-layout.ts';
import type { OutputPort } from './model-ports.ts';
import { fromWireParameters } from './wire-parameters.ts';

/** The answer at word `at` as a part whose tensors are views of the slot's `memories`. */
export const readAnswer = (words: Float64Array, at: number, memories: readonly Buffer[], ports: readonly OutputPort[]): Part => {
  const flags = words[at + answerFields.flags] ?? 0;
  const outputs = readOutputs(words, at + answerWords, words[at + answerFields.outputs] ?? 0, memories, ports);
  const part: Part = {
    of: words[at + answerFields.of] ?? 0,
    outputs,
    parameters: noParameters,
    isLast: (flags & answerFlags.isLast) !== 0,
    isRescheduled: (flags & answerFlags.isRescheduled) !== 0,
    error: undefined,
  };
  const extrasLength = words[at + answerFields.extrasLength] ?? 0;
  if (extrasLength === 0) return part;
  const start = words[at + answerFields.extrasStart] ?? 0;
  const text = memories[words[at + answerFields.extrasArea] ?? 0]?.toString('utf8', start, start + extrasLength) ?? '{}';
  const { parameters, error }: Partial<AnswerExtras> = JSON.parse(text);
  return {
    ...part,
    parameters: parameters === undefined ? noParameters : fromWireParameters(parameters),
    error: error === undefined ? undefined : new InferError(error.code, error.message, { reason: 'BACKEND' }),
  };
};

const readOutputs = (
  words: Float64Array,
  first: number,
  count: number,
  memories: readonly Buffer[],
  ports: readonly OutputPort[],
): Tensors => {
  const outputs = new Map<string, Tensor>();
  let at = first;
  for (let left = count; left > 0; left--) {
    const port = ports[words[at] ?? 0];
    const memory = memories[words[at + 1] ?? 0];
    const start = words[at + 2] ?? 0;
    const rank = words[at + 4] ?? 0;
    const shape: number[] = [];
    for (let axis = 0; axis < rank; axis++) shape.push(words[at + outputWords + axis] ?? 0);
    if (port !== undefined && memory !== undefined) {
      outputs.set(port.name, new Tensor(port.datatype, shape, memory, start, start + (words[at + 3] ?? 0)));
    }
    at += outputWords + rank;
  }
  return outputs;
};
