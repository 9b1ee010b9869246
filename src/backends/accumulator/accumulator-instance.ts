import { Observable } from 'rxjs';
import type { Scheduler } from '../../streams/flow/clock.ts';
import type { Batch, Instance, Part } from '../../streams/inference/backend.ts';
import { noParameters } from '../../streams/inference/parameters.ts';
import type { InferRequest } from '../../streams/inference/request.ts';
import type { Tensor, Tensors } from '../../streams/tensors/tensor.ts';
import { tensorFrom } from '../../streams/tensors/tensor-from-values.ts';
import { tensorValues } from '../../streams/tensors/tensor-values.ts';

/** What the sums of an instance are kept by. */
export interface Sums {
  /** The new sum of the request in that row of the batch: `sum`, on top of what it was unless the sequence starts. Wraps around as an INT32 does. */
  add(row: number, request: InferRequest, sum: number): number;
}

/** Control inputs say yes with any bit, whatever their datatype. */
export const isSet = (tensor: Tensor | undefined): boolean => tensor?.bytes.some((byte) => byte !== 0) ?? false;

const noTensors: Tensors = new Map();

const sumOf = (values: Iterable<number | bigint | string | boolean | Uint8Array>): number => {
  let sum = 0;
  for (const value of values) sum = (sum + Number(value)) | 0;
  return sum;
};

const answerTo = (of: number, request: InferRequest, sums: Sums): Part => {
  const part: Part = { of, outputs: noTensors, parameters: noParameters, isLast: true, error: undefined };
  const { inputs } = request;
  const input = inputs.get('INPUT');
  // A row that only fills the batch up.
  if (input === undefined || !isSet(inputs.get('READY'))) return part;
  const sum = sums.add(of, request, sumOf(tensorValues(input)));
  const count = input.byteLength / Int32Array.BYTES_PER_ELEMENT;
  const output = tensorFrom('INT32', input.shape, Array<number>(count).fill(sum));
  return { ...part, outputs: new Map([['OUTPUT', output]]) };
};

interface AccumulatorInstanceConfig {
  readonly sums: Sums;
  readonly delayMs: number;
  readonly scheduler: Scheduler;
}

export const accumulatorInstance = ({ sums, delayMs, scheduler }: AccumulatorInstanceConfig): Instance => ({
  capacity: 1,
  run: (batch: Batch) =>
    new Observable((parts) => {
      batch.times.inputEndMs = scheduler.now();
      const answer = (): void => {
        batch.times.outputStartMs = scheduler.now();
        for (const [of, request] of batch.requests.entries()) if (!parts.closed) parts.next(answerTo(of, request, sums));
        parts.complete();
      };
      if (delayMs > 0) return scheduler.schedule(answer, delayMs);
      answer();
      return undefined;
    }),
});
