import { integralParameter } from '../../streams/inference/integral-parameter.ts';
import type { ModelSpec } from '../../streams/inference/model-spec.ts';

/** What the config's parameters of an identity model say, for one instance. */
export interface IdentityDelays {
  /** Before the instance is there: `creation_delay_sec`. */
  readonly creationMs: number;
  /** Of each execution: `execute_delay_ms`; with `instance_wise_delay_multiplier` above 0 times the number of the instance's GPU, where that is more than 1. */
  readonly executionMs: number;
}

/** @throws InferError INVALID_ARGUMENT for a parameter that is no whole number */
export const identityDelays = (spec: Pick<ModelSpec, 'parameters'>, device: number): IdentityDelays => {
  const isMultiplied = integralParameter(spec, 'instance_wise_delay_multiplier') > 0;
  const factor = isMultiplied ? Math.max(1, device) : 1;
  return {
    creationMs: integralParameter(spec, 'creation_delay_sec') * 1000,
    executionMs: integralParameter(spec, 'execute_delay_ms') * factor,
  };
};
