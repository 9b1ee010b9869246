import type { Batch } from '../../streams/inference/backend.ts';
import type { InferError } from '../../streams/inference/error.ts';
import type { InferRequest } from '../../streams/inference/request.ts';
import { elementCount } from '../../streams/tensors/shape.ts';
import { Tensor } from '../../streams/tensors/tensor.ts';
import { refuseRequest } from './refuse-request.ts';
import type { ModelPorts } from './worker-protocol.ts';

/** What of a batch runs. */
export interface AdmittedBatch extends Pick<Batch, 'requests' | 'rows' | 'totalRows' | 'wholeInputs'> {
  /** Where each of its requests stands in the batch, −1 for one whose answer nobody wants; undefined when all run. */
  readonly positions: readonly number[] | undefined;
}

export const wholeBatch = ({ requests, rows, totalRows, wholeInputs }: Batch): AdmittedBatch => ({
  requests,
  rows,
  totalRows,
  wholeInputs,
  positions: undefined,
});

/**
 * Leaves out of a batch the requests that cannot run, and calls `refuse` with each. Tensors of the whole batch count them: where a model has such
 * tensors they keep their place, with empty strings, and nobody sees the answer.
 */
export const admitBatch = (batch: Batch, ports: ModelPorts, refuse: (of: number, error: InferError) => void): AdmittedBatch => {
  const refusals = batch.requests.map((request) => refuseRequest(request, ports));
  if (refusals.every((refusal) => refusal === undefined)) return wholeBatch(batch);
  for (const [of, error] of refusals.entries()) if (error !== undefined) refuse(of, error);
  const isAdmitted = (_: unknown, of: number): boolean => refusals[of] === undefined;
  const requests = batch.requests.filter(isAdmitted);
  if (requests.length > 0 && ports.inputs.some(({ form }) => form === 'whole')) {
    return {
      ...batch,
      requests: batch.requests.map((request, of) => (isAdmitted(request, of) ? request : withoutText(request))),
      positions: refusals.map((refusal, of) => (refusal === undefined ? of : -1)),
    };
  }
  const rows = batch.rows.filter(isAdmitted);
  return {
    ...batch,
    requests,
    rows,
    totalRows: rows.reduce((sum, count) => sum + count, 0),
    positions: [...batch.requests.keys()].filter((of) => isAdmitted(undefined, of)),
  };
};

const withoutText = (request: InferRequest): InferRequest => {
  const inputs = new Map(request.inputs);
  for (const [name, { datatype, shape }] of inputs) {
    // Four bytes of length, all zero, make an empty string.
    if (datatype === 'BYTES') inputs.set(name, new Tensor(datatype, shape, new Uint8Array(4 * elementCount(shape))));
  }
  return { ...request, inputs };
};
