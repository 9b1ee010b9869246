import { throwError } from 'rxjs';
import type { DataPlane, ServedModel } from '../../src/streams/inference/data-plane.ts';

/** Models that a test makes, beside those of a real data plane. */
export const withModels = (base: DataPlane, models: readonly ServedModel[]): DataPlane => {
  const named = new Map(models.map((model) => [model.spec.name, model]));
  return {
    ...base,
    isModelReady: (name, version) => named.has(name) || base.isModelReady(name, version),
    model: (name, version) => named.get(name) ?? base.model(name, version),
    infer: (request) => {
      try {
        return (named.get(request.modelName) ?? base.model(request.modelName, request.modelVersion)).infer(request);
      } catch (error) {
        return throwError(() => error);
      }
    },
  };
};
