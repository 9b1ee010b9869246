/** The statistics extension's fields. Counts and nanoseconds are exact up to 2^53. */
export interface StatisticDuration {
  readonly count: number;
  readonly ns: number;
}

export interface InferStatistics {
  readonly success: StatisticDuration;
  readonly fail: StatisticDuration;
  readonly queue: StatisticDuration;
  readonly compute_input: StatisticDuration;
  readonly compute_infer: StatisticDuration;
  readonly compute_output: StatisticDuration;
  readonly cache_hit: StatisticDuration;
  readonly cache_miss: StatisticDuration;
}

/** Of the answers with one index in their requests. */
export interface InferResponseStatistics {
  readonly compute_infer: StatisticDuration;
  readonly compute_output: StatisticDuration;
  readonly success: StatisticDuration;
  readonly fail: StatisticDuration;
  readonly empty_response: StatisticDuration;
  readonly cancel: StatisticDuration;
}

export interface InferBatchStatistics {
  readonly batch_size: number;
  readonly compute_input: StatisticDuration;
  readonly compute_infer: StatisticDuration;
  readonly compute_output: StatisticDuration;
}

/** One entry of `model_stats`, key order as Triton prints it. */
export interface ModelStatistics {
  readonly name: string;
  readonly version: string;
  /** Milliseconds since 1970 of the last execution; 0 for never. */
  readonly last_inference: number;
  readonly inference_count: number;
  readonly execution_count: number;
  readonly inference_stats: InferStatistics;
  /** Of decoupled models: by the index of the answer in its request, `'0'` to `'999'`; later ones are not told. */
  readonly response_stats: Readonly<Record<string, InferResponseStatistics>>;
  readonly batch_stats: readonly InferBatchStatistics[];
  readonly memory_usage: readonly never[];
}
