import { type Observable, of } from 'rxjs';
import { InferError } from '../../src/streams/inference/error.ts';
import type { Infer } from '../../src/streams/inference/infer.ts';
import type { InputSpec, ModelSpec, OutputSpec } from '../../src/streams/inference/model-spec.ts';
import { noParameters } from '../../src/streams/inference/parameters.ts';
import type { InferRequest } from '../../src/streams/inference/request.ts';
import type { InferResponse } from '../../src/streams/inference/response.ts';
import type { Datatype } from '../../src/streams/tensors/datatype.ts';
import type { Shape } from '../../src/streams/tensors/shape.ts';
import type { Tensor } from '../../src/streams/tensors/tensor.ts';
import { makeInput, makeRequest, makeSpec } from './model.ts';

/** A model without inputs, outputs and batches, but for what a test is about. */
export const modelSpec = (fields: Partial<ModelSpec>): ModelSpec =>
  makeSpec({ maxBatchSize: 0, inputs: [], outputs: [], dynamicBatching: undefined, ...fields });

export const inputSpec = (name: string, datatype: Datatype, dims: Shape, fields: Partial<InputSpec> = {}): InputSpec =>
  makeInput({ name, datatype, dims, ...fields });

export const outputSpec = (name: string, datatype: Datatype, dims: Shape, fields: Partial<OutputSpec> = {}): OutputSpec => ({
  name,
  datatype,
  dims,
  reshape: undefined,
  labels: [],
  ...fields,
});

export const inferRequest = (inputs: Readonly<Record<string, Tensor>>, fields: Partial<InferRequest> = {}): InferRequest =>
  makeRequest({ inputs: new Map(Object.entries(inputs)), ...fields });

export const inferResponse = (outputs: Readonly<Record<string, Tensor>>, part: Partial<InferResponse> = {}): InferResponse => ({
  modelName: 'm',
  modelVersion: '1',
  id: '',
  parameters: noParameters,
  outputs: new Map(Object.entries(outputs)),
  isLast: true,
  ...part,
});

/** A model that answers every request alike. */
export const answering =
  (...responses: readonly InferResponse[]): Infer =>
  () =>
    of(...responses);

/** Everything that an answer brings, for models that answer before `subscribe` returns. */
export const collect = <T>(
  source: Observable<T>,
): { readonly values: readonly T[]; readonly error: unknown; readonly isComplete: boolean } => {
  const values: T[] = [];
  let error: unknown;
  let isComplete = false;
  source
    .subscribe({
      next: (value) => values.push(value),
      error: (reason: unknown) => {
        error = reason;
      },
      complete: () => {
        isComplete = true;
      },
    })
    .unsubscribe();
  return { values, error, isComplete };
};

/** The message of the InferError in which an answer ended, with its code in front. */
export const failureOf = (source: Observable<unknown>): string => {
  const { error } = collect(source);
  return error instanceof InferError ? `${error.code}: ${error.message}` : `no InferError but ${String(error)}`;
};
