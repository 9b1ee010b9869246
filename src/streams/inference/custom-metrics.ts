export type CustomMetricKind = 'counter' | 'gauge' | 'histogram';

/** One family of metrics that a model's code has made; the server shows it beside its own. */
export interface CustomMetricFamily {
  /** One series. Made again with equal labels, it is the same one. `buckets` are upper bounds, ascending; for histograms alone. */
  series(labels: Readonly<Record<string, string>>, buckets?: readonly number[]): CustomMetric;
  /** It is shown no longer, nor is any of its series. */
  remove(): void;
}

export interface CustomMetric {
  /** @throws InferError where its kind does not have it: a counter takes no negative number, a histogram nothing at all */
  increment(by: number): void;
  /** @throws InferError for any kind but a gauge */
  set(value: number): void;
  /** @throws InferError for any kind but a histogram */
  observe(value: number): void;
  /** @throws InferError for a histogram */
  value(): number;
  remove(): void;
}

/** Where the code of models makes metrics of its own. */
export interface CustomMetrics {
  /**
   * A family of this name; the same one for all that ask with the same kind and description.
   *
   * @throws InferError INVALID_ARGUMENT for a name that is none, ALREADY_EXISTS for one that is taken for something else
   */
  family(name: string, description: string, kind: CustomMetricKind): CustomMetricFamily;
}
