import type { DataPlane } from '../streams/inference/data-plane.ts';
import { type ModelCalls, refuseCycles } from '../streams/inference/model-calls.ts';

/** What models may ask of the server; `dataPlane` is asked for when they do, since models are there before it is. */
export const modelCalls = (dataPlane: () => DataPlane): ModelCalls => ({
  infer: refuseCycles((request) => dataPlane().infer(request)),
  isReady: (name, version) => dataPlane().isModelReady(name, version),
  isDecoupled: (name, version) => dataPlane().model(name, version).spec.decoupled,
});
