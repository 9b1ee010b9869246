import { integralParameter } from '../../streams/inference/integral-parameter.ts';
import type { ModelSpec } from '../../streams/inference/model-spec.ts';

/** What the config's parameters say about the answers to one request. */
export interface SquareScript {
  /** Before each answer: `CUSTOM_INFER_DELAY_NS` and `CUSTOM_OUTPUT_DELAY_NS` together. */
  readonly delayMs: number;
  /** `CUSTOM_FAIL_COUNT`: the last answers, but for those that are left out, are errors. */
  readonly failures: number;
  /** `CUSTOM_EMPTY_COUNT`: the very last answers are left out. */
  readonly omissions: number;
}

const nanosecondsPerMs = 1e6;

/** @throws InferError INVALID_ARGUMENT for a parameter that is no whole number */
export const squareScript = (spec: Pick<ModelSpec, 'parameters'>): SquareScript => ({
  delayMs: (integralParameter(spec, 'CUSTOM_INFER_DELAY_NS') + integralParameter(spec, 'CUSTOM_OUTPUT_DELAY_NS')) / nanosecondsPerMs,
  failures: integralParameter(spec, 'CUSTOM_FAIL_COUNT'),
  omissions: integralParameter(spec, 'CUSTOM_EMPTY_COUNT'),
});
