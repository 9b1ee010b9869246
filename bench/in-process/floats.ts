import { requestOf } from '../../src/server/question.ts';
import type { ModelSpec } from '../../src/streams/inference/model-spec.ts';
import type { InferRequest } from '../../src/streams/inference/request.ts';
import type { InferResponse } from '../../src/streams/inference/response.ts';
import { tensorValues } from '../../src/streams/tensors/tensor-values.ts';

/** A request of so many floats, as one row. */
export const floatsRequest = (spec: ModelSpec, floats: number): InferRequest =>
  requestOf(spec, {
    inputs: { INPUT0: { shape: [1, floats], values: Float32Array.from({ length: floats }, (_, index) => index) } },
  });

/** @throws Error for an answer that is not the floats over again */
export const checkFloats = ({ outputs }: InferResponse, floats: number): void => {
  const output = outputs.get('OUTPUT0');
  const values = output === undefined ? [] : tensorValues(output);
  if (values.length !== floats || Number(values[floats - 1]) !== floats - 1) throw new Error(`not the ${floats} floats that were sent`);
};
