import { concat, ignoreElements, Observable, of as only } from 'rxjs';
import type { Scheduler } from '../../streams/flow/clock.ts';
import { produce } from '../../streams/flow/produce.ts';
import type { Instance, Part } from '../../streams/inference/backend.ts';
import { InferError, toInferError } from '../../streams/inference/error.ts';
import { noParameters } from '../../streams/inference/parameters.ts';
import type { InferRequest } from '../../streams/inference/request.ts';
import { runEach } from '../../streams/inference/run-each.ts';
import { elementCount } from '../../streams/tensors/shape.ts';
import type { Tensor, Tensors } from '../../streams/tensors/tensor.ts';
import type { SquareScript } from './square-script.ts';

const noTensors: Tensors = new Map();

const simulatedFailure = new InferError('UNKNOWN', 'simulated failure');

/** The number of a request. @throws InferError INVALID_ARGUMENT */
const countOf = (input: Tensor | undefined): number => {
  if (input === undefined || elementCount(input.shape) !== 1) throw new InferError('INVALID_ARGUMENT', 'unexpected shape for IN input');
  const count = Buffer.from(input.buffer.buffer, input.buffer.byteOffset + input.start, input.byteLength).readInt32LE();
  if (count < 0) throw new InferError('INVALID_ARGUMENT', `expected IN to be the number of answers, got ${count}`);
  return count;
};

/** The answers to one request, without the end. */
const squared = (of: number, { inputs, demand }: InferRequest, script: SquareScript, scheduler: Scheduler): Observable<Part> => {
  const { delayMs, failures, omissions } = script;
  const input = inputs.get('IN');
  const answer: Part = { of, outputs: noTensors, parameters: noParameters, isLast: false, error: undefined };
  let count: number;
  try {
    count = countOf(input);
  } catch (error) {
    return only({ ...answer, isLast: true, error: toInferError(error) });
  }
  const good: Part = { ...answer, outputs: new Map(input === undefined ? [] : [['OUT', input]]) };
  const bad: Part = { ...answer, error: simulatedFailure };
  const given = Math.max(0, count - omissions);
  const goodOnes = Math.max(0, given - failures);
  const pace = { delayMs: () => delayMs, demand, scheduler };
  const answers$ = produce({ ...pace, count: given, make: (index) => (index < goodOnes ? good : bad) });
  if (given === count) return answers$;
  // What is left out takes its time.
  const rest$ = produce({ ...pace, count: count - given, make: () => undefined, demand: undefined });
  return concat(answers$, rest$.pipe(ignoreElements()));
};

export const squareInstance = (script: SquareScript, scheduler: Scheduler): Instance => ({
  capacity: 1,
  run: (batch) =>
    new Observable((parts) => {
      batch.times.inputEndMs = scheduler.now();
      parts.add(runEach(batch, (request, of) => squared(of, request, script, scheduler)).subscribe(parts));
      // Whoever is lent it comes after these requests.
      if (!parts.closed) batch.releaseInstance?.();
    }),
});
