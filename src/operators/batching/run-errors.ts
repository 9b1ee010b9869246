import { InferError, toInferError } from '../../streams/inference/error.ts';
import type { ModelSpec } from '../../streams/inference/model-spec.ts';

type Named = Pick<ModelSpec, 'name' | 'version'>;

const nameOf = ({ name, version }: Named): string => `model '${name}' version ${version}`;

/** Statistics and metrics count what an instance says against the backend. */
export const backendError = (error: unknown): InferError => {
  const known = toInferError(error, 'BACKEND');
  return known.reason === 'OTHER' ? new InferError(known.code, known.message, { cause: known, reason: 'BACKEND' }) : known;
};

export const unknownRequestError = (spec: Named, of: number, requests: number): InferError =>
  new InferError('INTERNAL', `${nameOf(spec)} answered request ${of} of a batch of ${requests}`);

export const singleResponseError = (spec: Named, answers: number): InferError =>
  new InferError('INTERNAL', `expected a single response, got ${answers} from ${nameOf(spec)}`, { reason: 'BACKEND' });

export const rescheduleError = (): InferError =>
  new InferError(
    'INVALID_ARGUMENT',
    'Request is released with TRITONSERVER_REQUEST_RELEASE_RESCHEDULE, while the model is not configured to handle such a flag.',
    { reason: 'BACKEND' },
  );

export const instanceGoneError = (spec: Named, cause: unknown): InferError =>
  new InferError('UNAVAILABLE', `an instance of ${nameOf(spec)} ended while it ran the request`, { cause, reason: 'BACKEND' });
