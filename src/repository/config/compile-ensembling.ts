import type { EnsembleSpec } from '../../streams/inference/model-spec.ts';
import type { ConfigEnsembling, Int64 } from './model-config.ts';

/** `''` for the newest. */
export const stepVersion = (version: Int64): string => (version === -1 ? '' : version.toString());

export const compileEnsembling = ({ step, max_inflight_requests }: ConfigEnsembling): EnsembleSpec => ({
  steps: step.map(({ model_name, model_version, input_map, output_map }) => ({
    modelName: model_name,
    modelVersion: stepVersion(model_version),
    inputs: new Map(Object.entries(input_map)),
    outputs: new Map(Object.entries(output_map)),
  })),
  maxInflightRequests: max_inflight_requests,
});
