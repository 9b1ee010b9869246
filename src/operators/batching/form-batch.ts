import type { Batch, Part } from '../../streams/inference/backend.ts';
import type { ModelSpec } from '../../streams/inference/model-spec.ts';
import { padBatch } from './pad-batch.ts';
import type { PaddedSpec } from './padding-plan.ts';
import { raggedBatch } from './ragged-batch.ts';

export type BatchedSpec = PaddedSpec & Pick<ModelSpec, 'batchInputs'>;

/** A batch as its instance is to see it. */
export interface FormedBatch {
  readonly batch: Batch;
  /** What the caller may see of an answer; undefined for all of it. */
  readonly cut: ((part: Part) => Part) | undefined;
}

/** Adds to batches what the model's config asks for: tensors of the whole batch, and padding. Undefined for a model that asks for neither. */
export const formBatch = (spec: BatchedSpec): ((plain: Batch) => FormedBatch) | undefined => {
  const wholeInputs = raggedBatch(spec);
  const pad = padBatch(spec);
  if (wholeInputs === undefined && pad === undefined) return undefined;
  return (plain) => {
    const { requests, rows } = plain;
    const padded = pad?.(requests);
    // These tell what the clients sent, and so nothing of padding.
    const whole = wholeInputs?.(requests, rows) ?? plain.wholeInputs;
    return { batch: { ...plain, requests: padded?.requests ?? requests, wholeInputs: whole }, cut: padded?.cut };
  };
};
