import { Observable, type Subscriber } from 'rxjs';
import type { Batch, Instance, Part } from '../../src/streams/inference/backend.ts';
import { InferError } from '../../src/streams/inference/error.ts';
import type { InferRequest } from '../../src/streams/inference/request.ts';
import { Tensor } from '../../src/streams/tensors/tensor.ts';
import { makePart } from '../../test/support/model.ts';
import type { VirtualTime } from '../../test/support/virtual-time.ts';
import { type Answer, answersOf, type StepSetting, type Value } from './ensemble-setting.ts';

export interface EnsembleInstanceConfig {
  readonly step: StepSetting;
  readonly index: number;
  readonly time: VirtualTime;
  readonly onRunning: (by: number) => void;
}

export const rowBytes = 4;

export const toTensor = (value: NonNullable<Value>, batches: boolean): Tensor => {
  const bytes = Buffer.from(value.flat());
  return new Tensor('UINT8', batches ? [value.length, rowBytes] : [rowBytes], bytes);
};

export const toValue = (tensor: Tensor | undefined): Value => {
  if (tensor === undefined) return undefined;
  const bytes = [...tensor.bytes];
  return Array.from({ length: bytes.length / rowBytes }, (_, row) => bytes.slice(row * rowBytes, (row + 1) * rowBytes));
};

/** Whether a tensor of these rows has the dimensions of someone who batches, or does not. */
export const isFitting = ({ shape }: Tensor, batches: boolean): boolean => shape.length === (batches ? 2 : 1) && shape.at(-1) === rowBytes;

/** @throws Error for a tensor of other dimensions than the model's */
const valuesOf = ({ step }: EnsembleInstanceConfig, { inputs }: InferRequest): readonly Value[] => {
  for (const tensor of inputs.values()) if (!isFitting(tensor, step.batches)) throw new Error(`an input of shape [${tensor.shape}]`);
  return step.inputs.map((_, input) => toValue(inputs.get(`I${input}`)));
};

/** Memory that holds something else as soon as an answer has been given, and a `Buffer`, as that of a worker is: its `slice` copies nothing. */
const emit = ({ step }: EnsembleInstanceConfig, parts: Subscriber<Part>, of: number, answer: Answer, isLast: boolean): void => {
  const tensors = answer.outputs.flatMap((value, output) =>
    value === undefined ? [] : [[`O${output}`, toTensor(value, step.batches)] as const],
  );
  parts.next(makePart(of, { outputs: new Map(tensors), isLast }));
  for (const [, tensor] of tensors) tensor.buffer.fill(0xee);
};

const failure = (index: number): InferError => new InferError('INTERNAL', `step ${index} fails`);

const runOnce = (config: EnsembleInstanceConfig, { requests }: Batch, parts: Subscriber<Part>): void => {
  const { step, index, time } = config;
  const made = requests.map((request) => answersOf(step, index, valuesOf(config, request)));
  const delayMs = Math.max(...made.map((each) => each.delayMs));
  const timer = time.schedule(() => {
    made.forEach(({ answers, fails }, of) => {
      const [answer] = answers;
      if (fails || answer === undefined) parts.next(makePart(of, { error: failure(index) }));
      else emit(config, parts, of, answer, true);
    });
    parts.complete();
  }, delayMs);
  parts.add(timer);
};

/** Each request by itself. */
const runMany = (config: EnsembleInstanceConfig, { requests }: Batch, parts: Subscriber<Part>): void => {
  const { step, index, time } = config;
  let open = requests.length;
  requests.forEach((request, of) => {
    const { answers, fails, delayMs } = answersOf(step, index, valuesOf(config, request));
    const { demand } = request;
    let next = 0;
    let isWaiting = false;
    /** `isSaid`: its last answer has told that it is the last. */
    const end = (isSaid: boolean): void => {
      open--;
      if (fails) parts.next(makePart(of, { error: failure(index) }));
      else if (!isSaid) parts.next(makePart(of));
      if (open === 0) parts.complete();
    };
    const go = (): void => {
      if (parts.closed) return;
      const answer = answers[next];
      if (answer === undefined) {
        end(false);
        return;
      }
      if (step.heedsDemand && demand?.isOpen === false) {
        isWaiting = true;
        return;
      }
      next++;
      // A last part without outputs is no answer.
      const isLast = next === answers.length && !fails && answer.outputs.some((value) => value !== undefined);
      emit(config, parts, of, answer, isLast);
      if (isLast) end(true);
      else parts.add(time.schedule(go, delayMs % 3));
    };
    if (step.heedsDemand && demand !== undefined) {
      demand.onOpen = () => {
        if (!isWaiting) return;
        isWaiting = false;
        parts.add(time.schedule(go, 0));
      };
    }
    parts.add(time.schedule(go, delayMs));
  });
};

/** An instance whose answers are those of its step, after delays of virtual time. */
export const ensembleInstance = (config: EnsembleInstanceConfig): Instance => ({
  capacity: 1,
  run: (batch) =>
    new Observable((parts) => {
      config.onRunning(1);
      parts.add(() => config.onRunning(-1));
      if (config.step.mostAnswers === undefined) runOnce(config, batch, parts);
      else runMany(config, batch, parts);
    }),
});
