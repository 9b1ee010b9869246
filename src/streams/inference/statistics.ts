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
  readonly response_stats: Readonly<Record<string, never>>;
  readonly batch_stats: readonly InferBatchStatistics[];
  readonly memory_usage: readonly never[];
}
