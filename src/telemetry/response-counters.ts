import type { ResponseMade } from '../streams/inference/events.ts';
import type { InferResponseStatistics } from '../streams/inference/statistics.ts';
import { nanoseconds } from './nanoseconds.ts';

/** How often, and integer nanoseconds together. */
interface Sum {
  count: number;
  ns: number;
}

/** What became of the answers of one index. */
export type ResponseCounters = { readonly [Name in keyof InferResponseStatistics]: Sum };

/** A model may answer without end; what it costs to count its answers must not. */
const keptIndices = 1000;

const noSum = (): Sum => ({ count: 0, ns: 0 });

const noResponseCounters = (): ResponseCounters => ({
  compute_infer: noSum(),
  compute_output: noSum(),
  success: noSum(),
  fail: noSum(),
  empty_response: noSum(),
  cancel: noSum(),
});

const add = (sum: Sum, ns: number): void => {
  sum.count += 1;
  sum.ns += ns;
};

/** `responses` has the counters by index. */
export const addResponse = (responses: ResponseCounters[], { index, outcome, computeInferMs, computeOutputMs }: ResponseMade): void => {
  if (index >= keptIndices) return;
  while (responses.length <= index) responses.push(noResponseCounters());
  const counters = responses[index];
  if (counters === undefined) return;
  const inferNs = nanoseconds(computeInferMs);
  const totalNs = inferNs + nanoseconds(computeOutputMs);
  switch (outcome) {
    case 'success':
      add(counters.compute_infer, inferNs);
      add(counters.compute_output, totalNs - inferNs);
      add(counters.success, totalNs);
      break;
    case 'fail':
      add(counters.compute_infer, inferNs);
      add(counters.fail, totalNs);
      break;
    case 'empty':
      add(counters.compute_infer, totalNs);
      add(counters.empty_response, totalNs);
      break;
    case 'cancel':
      add(counters.cancel, totalNs);
      break;
  }
};

export const responseStatistics = (responses: readonly ResponseCounters[]): Readonly<Record<string, InferResponseStatistics>> =>
  Object.fromEntries(responses.map((counters, index) => [index, structuredClone(counters)]));
