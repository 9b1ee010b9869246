import { kindOf } from './kind-of.ts';
import { ModelError } from './model-module.ts';

const wrong = (metric: string, what: string, wanted: string, got: unknown): ModelError =>
  new ModelError(`metric '${metric}': expected ${what} to be ${wanted}, got ${kindOf(got)}`);

/** What a model says of a metric that it makes, as it may be sent. */
export interface GivenMetric {
  readonly name: string;
  readonly description: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly buckets: readonly number[] | undefined;
}

/** @throws ModelError INTERNAL for what is no text, or no number */
export const givenMetric = ({ name, description, labels, buckets }: GivenMetric): GivenMetric => {
  if (typeof name !== 'string') throw new ModelError(`expected the name of a metric to be a string, got ${kindOf(name)}`);
  if (typeof description !== 'string') throw wrong(name, 'its description', 'a string', description);
  if (typeof labels !== 'object' || labels === null || labels instanceof Map) throw wrong(name, 'its labels', 'an object', labels);
  for (const [label, value] of Object.entries(labels)) {
    if (typeof value !== 'string') throw wrong(name, `label '${label}'`, 'a string', value);
  }
  if (buckets === undefined) return { name, description, labels: { ...labels }, buckets };
  if (!Array.isArray(buckets)) throw wrong(name, 'its buckets', 'an array of numbers', buckets);
  return { name, description, labels: { ...labels }, buckets: buckets.map((bound) => givenNumber(name, 'a bucket', bound)) };
};

/** @throws ModelError INTERNAL for what is no number */
export const givenNumber = (metric: string, what: string, value: unknown): number => {
  if (typeof value === 'number') return value;
  throw wrong(metric, what, 'a number', value);
};
