import type { ModelSpec } from '../streams/inference/model-spec.ts';
import type { InferRequest } from '../streams/inference/request.ts';

/**
 * Requests batch only with an equal key: the shapes of the inputs that may vary, without the batch dimension, and, where a model has optional
 * inputs, which of them are there. `''` for a model whose inputs are all fixed and required.
 */
export const batchKey = (spec: Pick<ModelSpec, 'inputs' | 'maxBatchSize'>): ((request: InferRequest) => string) => {
  const varying = spec.inputs.filter((input) => input.optional || (input.reshape ?? input.dims).includes(-1)).map((input) => input.name);
  if (varying.length === 0) return () => '';
  const firstAxis = spec.maxBatchSize > 0 ? 1 : 0;

  return ({ inputs }) => {
    let key = '';
    for (const name of varying) {
      const shape = inputs.get(name)?.shape;
      if (shape === undefined) {
        key += '-;';
        continue;
      }
      for (let axis = firstAxis; axis < shape.length; axis++) key += `${shape[axis]},`;
      key += ';';
    }
    return key;
  };
};
