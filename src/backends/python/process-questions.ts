import { InferError, toInferError } from '../../streams/inference/error.ts';
import type { ModelCalls } from '../../streams/inference/model-calls.ts';
import type { ModelMetrics } from './model-metrics.ts';

/** Small things that a process asks, as JSON; `stub/weir_stub/channel.py` sends them. */
type Question =
  | { readonly op: 'ready'; readonly name: string; readonly version: string }
  | { readonly op: 'load' | 'unload'; readonly name: string }
  | { readonly op: 'family'; readonly name: string; readonly description: string; readonly kind: 'counter' | 'gauge' | 'histogram' }
  | {
      readonly op: 'series';
      readonly family: number;
      readonly labels: Readonly<Record<string, string>>;
      readonly buckets?: readonly number[];
    }
  | { readonly op: 'value'; readonly metric: number }
  | { readonly op: 'forget-family' | 'forget-metric'; readonly id: number };

/** What a server says that is not in explicit control mode. */
const notExplicit = 'explicit model load / unload is not allowed if polling is enabled';

const resultOf = (question: Question, calls: ModelCalls, metrics: ModelMetrics): unknown => {
  switch (question.op) {
    case 'ready':
      return calls.isReady(question.name, question.version);
    case 'load':
    case 'unload':
      throw new InferError('UNAVAILABLE', notExplicit);
    case 'family':
      return metrics.makeFamily(question.name, question.description, question.kind);
    case 'series':
      return metrics.makeSeries(question.family, question.labels, question.buckets);
    case 'value':
      return metrics.value(question.metric);
    case 'forget-family':
      metrics.removeFamily(question.id);
      return null;
    case 'forget-metric':
      metrics.removeSeries(question.id);
      return null;
  }
};

/** The answer, as JSON: `{ value }` or `{ error }`. */
export const answerQuestion = (text: string, calls: ModelCalls, metrics: ModelMetrics): string => {
  try {
    return JSON.stringify({ value: resultOf(JSON.parse(text), calls, metrics) });
  } catch (error) {
    return JSON.stringify({ error: toInferError(error).message });
  }
};
