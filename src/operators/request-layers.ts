import type { Layer } from '../streams/inference/infer.ts';
import { applyReshape } from './apply-reshape.ts';
import { classify } from './classify.ts';
import { type EmitEventsConfig, emitEvents } from './emit-events.ts';
import { selectOutputs } from './select-outputs.ts';
import { validateRequest } from './validate-request.ts';

/**
 * What stands around the scheduler of a model, outermost first, without the layers that this model has no use for. Requests that validation
 * refuses are not counted, as in Triton.
 */
export const requestLayers = (config: EmitEventsConfig): readonly Layer[] => {
  const { spec } = config;
  const all = [validateRequest(spec)];
  if (spec.outputs.length > 0) all.push(classify(spec));
  if (spec.outputs.length > 1) all.push(selectOutputs(spec));
  if ([...spec.inputs, ...spec.outputs].some((tensor) => tensor.reshape !== undefined)) all.push(applyReshape(spec));
  all.push(emitEvents(config));
  return all;
};
