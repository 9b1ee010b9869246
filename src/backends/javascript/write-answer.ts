import type { Tensor } from '../../streams/tensors/tensor.ts';
import { type AnswerExtras, answerFields, answerFlags, answerWords, outputWords } from './batch-layout.ts';
import type { BatchRequest } from './batch-request.ts';
import { faultOf } from './given-answer.ts';
import { givenParameters } from './given-parameters.ts';
import { outputTensor } from './made-tensor.ts';
import type { ModelAnswer } from './model-answer.ts';
import { ModelError } from './model-module.ts';
import type { Place, SlotOutputs } from './slot-outputs.ts';
import { detailOf, wireErrorOf } from './wire-error.ts';
import { toWireParameters } from './wire-parameters.ts';
import type { WorkerPorts } from './worker-ports.ts';

/** Where answers of a batch go. */
export interface AnswerTarget {
  readonly outputs: SlotOutputs;
  /** The slot's inputs, whose tensors may be outputs. */
  readonly inputs: ArrayBufferLike;
  readonly ports: WorkerPorts;
  /** Whether an output that lies in the slot's memory stays where it is: its model has no occasion to change it before it is read. */
  readonly sharing: 'shared' | 'copied';
  /** Takes what the log should say about an answer that has failed. */
  readonly onFault: (detail: string) => void;
}

/** Writes an answer at word `at`, or the error that it turns out to be. Answers where the next one begins. */
export const writeAnswer = (
  target: AnswerTarget,
  at: number,
  request: BatchRequest,
  answer: ModelAnswer | Error,
  isLast: boolean,
): number => {
  const { outputs } = target;
  let end = at + answerWords;
  let count = 0;
  let extras: Partial<AnswerExtras> | undefined;
  let isRescheduled = false;
  let error = faultOf(answer);
  if (error === undefined && !(answer instanceof Error)) {
    try {
      for (const name in answer.outputs) {
        const made = answer.outputs[name];
        const index = target.ports.outputIndex.get(name);
        const port = index === undefined ? undefined : target.ports.outputs[index];
        if (index === undefined || port === undefined)
          throw new ModelError(`the model gave an output '${name}' that its configuration does not have`);
        if (made === undefined || !request.wants(index)) continue;
        end = writeOutput(target, end, index, outputTensor(made, port));
        count++;
      }
      if (answer.parameters !== undefined) extras = { parameters: toWireParameters(givenParameters(answer.parameters)) };
      isRescheduled = answer.reschedule === true;
    } catch (reason) {
      error = reason;
    }
  }
  if (error !== undefined) {
    end = at + answerWords;
    count = 0;
    extras = { error: wireErrorOf(error, (message) => ({ code: 'INTERNAL', message })) };
    const detail = detailOf(error);
    if (detail !== '') target.onFault(detail);
  }
  outputs.makeRoom(end);
  const { words } = outputs;
  words[at + answerFields.length] = end - at;
  words[at + answerFields.of] = request.of;
  words[at + answerFields.flags] = (isLast || isRescheduled ? answerFlags.isLast : 0) + (isRescheduled ? answerFlags.isRescheduled : 0);
  words[at + answerFields.outputs] = count;
  writeExtras(outputs, at, extras);
  return end;
};

const writeOutput = ({ outputs, inputs, sharing }: AnswerTarget, at: number, index: number, tensor: Tensor): number => {
  const { shape } = tensor;
  const { area, start } = (sharing === 'shared' ? outputs.find(tensor, inputs) : undefined) ?? outputs.copy(tensor);
  outputs.makeRoom(at + outputWords + shape.length);
  const { words } = outputs;
  words[at] = index;
  words[at + 1] = area;
  words[at + 2] = start;
  words[at + 3] = tensor.byteLength;
  words[at + 4] = shape.length;
  for (let axis = 0; axis < shape.length; axis++) words[at + outputWords + axis] = shape[axis] ?? 0;
  return at + outputWords + shape.length;
};

const noPlace: Place = { area: 0, start: 0 };

const writeExtras = (outputs: SlotOutputs, at: number, extras: Partial<AnswerExtras> | undefined): void => {
  const { words } = outputs;
  let place = noPlace;
  let byteLength = 0;
  if (extras !== undefined) {
    const text = Buffer.from(JSON.stringify(extras));
    byteLength = text.byteLength;
    const target = outputs.take(byteLength);
    place = outputs.lastTaken(byteLength);
    text.copy(target, place.start);
  }
  words[at + answerFields.extrasArea] = place.area;
  words[at + answerFields.extrasStart] = place.start;
  words[at + answerFields.extrasLength] = byteLength;
};
