import { firstValueFrom } from 'rxjs';
import type { DataPlane } from '../../../src/streams/inference/data-plane.ts';
import type { InferRequest } from '../../../src/streams/inference/request.ts';
import type { Shape } from '../../../src/streams/tensors/shape.ts';
import { Tensor } from '../../../src/streams/tensors/tensor.ts';
import { makeRequest } from '../../support/model.ts';

export const fp32 = (shape: Shape, values: readonly number[]): Tensor =>
  new Tensor('FP32', shape, new Uint8Array(Float32Array.from(values).buffer));

export const requestTo = (modelName: string, inputs: Readonly<Record<string, Tensor>>, modelVersion = ''): InferRequest =>
  makeRequest({ modelName, modelVersion, inputs: new Map(Object.entries(inputs)) });

export interface Answered {
  readonly version: string;
  readonly outputs: Readonly<Record<string, { readonly shape: Shape; readonly values: readonly number[] }>>;
}

/** The only answer, its FP32 outputs read while they are valid. */
export const ask = (dataPlane: DataPlane, request: InferRequest): Promise<Answered> =>
  new Promise((resolve, reject) => {
    let answered: Answered | undefined;
    dataPlane.infer(request).subscribe({
      next: ({ modelVersion, outputs }) => {
        const read = [...outputs].map(([name, { shape, bytes }]) => [
          name,
          { shape, values: [...new Float32Array(new Uint8Array(bytes).buffer)] },
        ]);
        answered = { version: modelVersion, outputs: Object.fromEntries(read) };
      },
      error: reject,
      complete: () => (answered === undefined ? reject(new Error('no answer')) : resolve(answered)),
    });
  });

/** The error that ends an answer. */
export const failureOf = (dataPlane: DataPlane, request: InferRequest): Promise<unknown> =>
  firstValueFrom(dataPlane.infer(request)).then(
    () => Promise.reject(new Error('it answered')),
    (error) => error,
  );
