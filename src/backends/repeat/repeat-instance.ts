import { merge, Observable, of as only } from 'rxjs';
import type { Scheduler } from '../../streams/flow/clock.ts';
import { produce } from '../../streams/flow/produce.ts';
import type { Batch, Instance, Part } from '../../streams/inference/backend.ts';
import { InferError } from '../../streams/inference/error.ts';
import { noParameters } from '../../streams/inference/parameters.ts';
import type { InferRequest } from '../../streams/inference/request.ts';
import { runEach } from '../../streams/inference/run-each.ts';
import { formatShape, sameShape } from '../../streams/tensors/shape.ts';
import { Tensor, type Tensors } from '../../streams/tensors/tensor.ts';

const elementBytes = 4;

const viewOf = ({ buffer, start, byteLength }: Tensor): DataView => new DataView(buffer.buffer, buffer.byteOffset + start, byteLength);

const unlikeShapes = (values: Tensor, delays: Tensor): InferError =>
  new InferError(
    'INVALID_ARGUMENT',
    `expected IN and DELAY shape to match, got ${formatShape(values.shape)} and ${formatShape(delays.shape)}`,
  );

/** The answers to one request, without the end. */
const repeated = (of: number, { inputs, demand }: InferRequest, scheduler: Scheduler): Observable<Part> => {
  const values = inputs.get('IN');
  const delays = inputs.get('DELAY');
  if (values === undefined || delays === undefined) throw new Error('a checked request has IN and DELAY');
  if (!sameShape(values.shape, delays.shape)) return only(failed(of, unlikeShapes(values, delays)));
  const delaysMs = viewOf(delays);
  // Written anew for each answer, which is read before the next one.
  const index = new Uint8Array(elementBytes);
  const indexView = viewOf(new Tensor('UINT32', [1], index));
  return produce({
    count: values.byteLength / elementBytes,
    delayMs: (element) => delaysMs.getUint32(element * elementBytes, true),
    make: (element) => {
      const start = values.start + element * elementBytes;
      indexView.setUint32(0, element, true);
      const outputs = new Map([
        ['OUT', new Tensor('INT32', [1], values.buffer, start, start + elementBytes)],
        ['IDX', new Tensor('UINT32', [1], index)],
      ]);
      return { of, outputs, parameters: noParameters, isLast: false, error: undefined };
    },
    demand,
    scheduler,
  });
};

const noTensors: Tensors = new Map();

const failed = (of: number, error: InferError): Part => ({ of, outputs: noTensors, parameters: noParameters, isLast: true, error });

const waitMs = ({ inputs }: InferRequest): number => {
  const wait = inputs.get('WAIT');
  return wait === undefined ? 0 : viewOf(wait).getUint32(0, true);
};

/** Completes once the instance may take the next request. */
const releasing = (batch: Batch, scheduler: Scheduler): Observable<never> =>
  new Observable((subscriber) => {
    const release = (): void => {
      batch.releaseInstance?.();
      subscriber.complete();
    };
    const ms = Math.max(0, ...batch.requests.map(waitMs));
    if (ms > 0) return scheduler.schedule(release, ms);
    release();
    return undefined;
  });

export const repeatInstance = (scheduler: Scheduler): Instance => ({
  capacity: 1,
  run: (batch) => {
    const answers$ = runEach(batch, (request, of) => {
      batch.times.inputEndMs = scheduler.now();
      return repeated(of, request, scheduler);
    });
    // Until its wait is over the instance is busy, though all answers may be out.
    return merge(answers$, releasing(batch, scheduler));
  },
});
