import { EMPTY } from 'rxjs';
import { applyReshape } from '../../operators/layers/apply-reshape.ts';
import { validateRequest } from '../../operators/layers/validate-request.ts';
import { bareRequest } from '../../streams/inference/bare-request.ts';
import { type InferError, toInferError } from '../../streams/inference/error.ts';
import { type Layer, layers } from '../../streams/inference/infer.ts';
import type { InputSpec, ModelSpec, WarmupSample } from '../../streams/inference/model-spec.ts';
import type { InferRequest } from '../../streams/inference/request.ts';
import type { Tensors } from '../../streams/tensors/tensor.ts';
import type { Finding } from './findings.ts';
import { fault } from './findings.ts';
import type { ReadWarmup } from './read-warmups.ts';

export interface CompiledWarmups {
  readonly warmups: readonly WarmupSample[];
  readonly findings: readonly Finding[];
}

/** Inputs that only the model knows, such as controls and states: whatever the sample has of them. */
const othersOf = (spec: ModelSpec, inputs: Tensors): readonly InputSpec[] =>
  [...inputs]
    .filter(([name]) => !spec.inputs.some((input) => input.name === name))
    .map(([name, { datatype, shape }]) => ({
      name,
      datatype,
      dims: spec.maxBatchSize > 0 ? shape.slice(1) : shape,
      reshape: undefined,
      optional: true,
      allowRagged: false,
    }));

/** The request as it comes out of the layers; the error where it does not. */
const through = (layer: Layer, request: InferRequest): InferRequest | InferError => {
  let outcome: InferRequest | InferError = request;
  layer((checked) => {
    outcome = checked;
    return EMPTY;
  })(request).subscribe({
    error: (error: unknown) => {
      outcome = toInferError(error);
    },
  });
  return outcome;
};

/**
 * Turns samples into requests as the model takes them. They are held against the model's inputs as a client's would be, and only there: a warm-up
 * belongs to no sequence, and what a scheduler would add is in the sample or is not there.
 */
export const compileWarmups = (spec: ModelSpec, samples: readonly ReadWarmup[]): CompiledWarmups => {
  const warmups: WarmupSample[] = [];
  const findings: Finding[] = [];
  for (const { name, count, requests, inputs, field } of samples) {
    const checked: ModelSpec = { ...spec, inputs: [...spec.inputs, ...othersOf(spec, inputs)], sequenceBatching: undefined };
    const outcome = through(layers([validateRequest(checked), applyReshape(checked)]), bareRequest(spec.name, spec.version, inputs));
    if (outcome instanceof Error) findings.push(fault(field, outcome.message));
    else warmups.push({ name, count, requests: Array.from({ length: requests }, () => outcome) });
  }
  return { warmups, findings };
};
