import type { OrderCounters } from '../../streams/flow/in-order.ts';
import { noOrderCounters } from '../../streams/flow/in-order.ts';
import type { Layer } from '../../streams/inference/infer.ts';
import { applyReshape } from './apply-reshape.ts';
import { classify } from './classify.ts';
import { type EmitEventsConfig, emitEvents } from './emit-events.ts';
import { preserveOrdering } from './preserve-ordering.ts';
import { selectOutputs } from './select-outputs.ts';
import { validateRequest } from './validate-request.ts';

export interface RequestLayersConfig extends EmitEventsConfig {
  /** Of a model that preserves ordering. */
  readonly ordering?: OrderCounters;
}

/**
 * What stands around the scheduler of a model, outermost first, without the layers that this model has no use for. Requests that validation
 * refuses are not counted, as in Triton.
 */
export const requestLayers = (config: RequestLayersConfig): readonly Layer[] => {
  const { spec } = config;
  const all = [validateRequest(spec)];
  if (spec.outputs.length > 0) all.push(classify(spec));
  if (spec.outputs.length > 1) all.push(selectOutputs(spec));
  if ([...spec.inputs, ...spec.outputs].some((tensor) => tensor.reshape !== undefined)) all.push(applyReshape(spec));
  all.push(emitEvents(config));
  if (spec.dynamicBatching?.preserveOrdering) all.push(preserveOrdering({ spec, counters: config.ordering ?? noOrderCounters() }));
  return all;
};
