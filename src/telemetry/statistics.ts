import type { FailureReason } from '../streams/inference/error.ts';
import type { BatchExecuted, CacheAnswered, CacheMissed, EventSink, RequestEnded } from '../streams/inference/events.ts';
import type { InferBatchStatistics, ModelStatistics, StatisticDuration } from '../streams/inference/statistics.ts';
import { nanoseconds } from './nanoseconds.ts';
import { addResponse, type ResponseCounters, responseStatistics } from './response-counters.ts';

/** What one batch size has cost. Integer nanoseconds. */
export interface BatchCounters {
  executions: number;
  computeInputNs: number;
  computeInferNs: number;
  computeOutputNs: number;
}

/**
 * Running sums of one model version, in integer nanoseconds. `computeInputNs` and its two neighbours charge each request with the whole
 * time of its batch; those of a batch size count the batch once.
 */
export interface ModelCounters {
  success: number;
  successNs: number;
  failNs: number;
  readonly failures: Record<FailureReason, number>;
  inferences: number;
  executions: number;
  queueNs: number;
  computeInputNs: number;
  computeInferNs: number;
  computeOutputNs: number;
  cacheHits: number;
  cacheHitNs: number;
  cacheMisses: number;
  cacheMissNs: number;
  /** Milliseconds since 1970; 0 for never. */
  lastExecutionMs: number;
  /** By rows of the batch. */
  readonly batches: Map<number, BatchCounters>;
  /** Of a decoupled model: by the index of the answer. */
  readonly responses: ResponseCounters[];
}

export interface Statistics {
  readonly sink: EventSink;
  /** Zeros for a version of which nothing has happened yet. */
  of(name: string, version: string): ModelStatistics;
  /** The sums themselves, to be read and not kept: zeros for a version of which nothing has happened yet. */
  counters(name: string, version: string): Readonly<ModelCounters>;
  /** Called when a version is unloaded: it starts from zero when it is loaded again. */
  forget(name: string, version: string): void;
}

const noCounters = (): ModelCounters => ({
  success: 0,
  successNs: 0,
  failNs: 0,
  failures: { REJECTED: 0, CANCELED: 0, BACKEND: 0, OTHER: 0 },
  inferences: 0,
  executions: 0,
  queueNs: 0,
  computeInputNs: 0,
  computeInferNs: 0,
  computeOutputNs: 0,
  cacheHits: 0,
  cacheHitNs: 0,
  cacheMisses: 0,
  cacheMissNs: 0,
  lastExecutionMs: 0,
  batches: new Map(),
  responses: [],
});

const addRequest = (sums: ModelCounters, { failure, durationMs }: RequestEnded): void => {
  if (failure === undefined) {
    sums.success += 1;
    sums.successNs += nanoseconds(durationMs);
    return;
  }
  sums.failures[failure] += 1;
  sums.failNs += nanoseconds(durationMs);
};

const batchCounters = (sums: ModelCounters, rows: number): BatchCounters => {
  let batch = sums.batches.get(rows);
  if (batch === undefined) {
    batch = { executions: 0, computeInputNs: 0, computeInferNs: 0, computeOutputNs: 0 };
    sums.batches.set(rows, batch);
  }
  return batch;
};

const addBatch = (sums: ModelCounters, event: BatchExecuted): void => {
  const inputNs = nanoseconds(event.computeInputMs);
  const inferNs = nanoseconds(event.computeInferMs);
  const outputNs = nanoseconds(event.computeOutputMs);
  sums.inferences += event.succeededRows;
  sums.executions += 1;
  sums.queueNs += nanoseconds(event.queueMs);
  sums.computeInputNs += inputNs * event.succeeded;
  sums.computeInferNs += inferNs * event.succeeded;
  sums.computeOutputNs += outputNs * event.succeeded;
  sums.lastExecutionMs = Math.max(sums.lastExecutionMs, Math.trunc(event.endedAtMs));
  const batch = batchCounters(sums, event.rows);
  batch.executions += 1;
  batch.computeInputNs += inputNs;
  batch.computeInferNs += inferNs;
  batch.computeOutputNs += outputNs;
};

const addHit = (sums: ModelCounters, { queueMs, lookupMs }: CacheAnswered): void => {
  sums.cacheHits += 1;
  sums.cacheHitNs += nanoseconds(lookupMs);
  sums.queueNs += nanoseconds(queueMs);
};

/** The request's own duration has this time in it already. */
const addMiss = (sums: ModelCounters, { lookupMs, insertMs }: CacheMissed): void => {
  sums.cacheMisses += 1;
  sums.cacheMissNs += nanoseconds(lookupMs) + nanoseconds(insertMs);
};

const duration = (count: number, ns: number): StatisticDuration => ({ count, ns });

const batchStatistics = ({ batches }: Readonly<ModelCounters>): InferBatchStatistics[] =>
  [...batches]
    .sort(([a], [b]) => a - b)
    .map(([rows, { executions, computeInputNs, computeInferNs, computeOutputNs }]) => ({
      batch_size: rows,
      compute_input: duration(executions, computeInputNs),
      compute_infer: duration(executions, computeInferNs),
      compute_output: duration(executions, computeOutputNs),
    }));

/** The count of queue is the successful requests, and of these the counts of compute are the ones that were run, as Triton reports them. */
const statistics = (name: string, version: string, sums: Readonly<ModelCounters>): ModelStatistics => {
  const { success, failures } = sums;
  // A caller may go away between its answer from the cache and its success.
  const computed = Math.max(0, success - sums.cacheHits);
  const failed = failures.REJECTED + failures.CANCELED + failures.BACKEND + failures.OTHER;
  return {
    name,
    version,
    last_inference: sums.lastExecutionMs,
    inference_count: sums.inferences,
    execution_count: sums.executions,
    inference_stats: {
      success: duration(success, sums.successNs),
      fail: duration(failed, sums.failNs),
      queue: duration(success, sums.queueNs),
      compute_input: duration(computed, sums.computeInputNs),
      compute_infer: duration(computed, sums.computeInferNs),
      compute_output: duration(computed, sums.computeOutputNs),
      cache_hit: duration(sums.cacheHits, sums.cacheHitNs),
      cache_miss: duration(sums.cacheMisses, sums.cacheMissNs),
    },
    response_stats: responseStatistics(sums.responses),
    batch_stats: batchStatistics(sums),
    memory_usage: [],
  };
};

/**
 * Folds events into the statistics extension's numbers. An event costs two map look-ups and some additions; documents are built when they
 * are asked for. Only events make entries, never questions: so clients cannot grow it with invented names.
 */
export const createStatistics = (): Statistics => {
  const models = new Map<string, Map<string, ModelCounters>>();

  const entry = (name: string, version: string): ModelCounters => {
    let versions = models.get(name);
    if (versions === undefined) {
      versions = new Map();
      models.set(name, versions);
    }
    let sums = versions.get(version);
    if (sums === undefined) {
      sums = noCounters();
      versions.set(version, sums);
    }
    return sums;
  };

  const counters = (name: string, version: string): Readonly<ModelCounters> => models.get(name)?.get(version) ?? noCounters();

  return {
    sink: (event) => {
      const sums = entry(event.model, event.version);
      if (event.kind === 'request-ended') addRequest(sums, event);
      else if (event.kind === 'batch-executed') addBatch(sums, event);
      else if (event.kind === 'cache-answered') addHit(sums, event);
      else if (event.kind === 'cache-missed') addMiss(sums, event);
      else addResponse(sums.responses, event);
    },
    of: (name, version) => statistics(name, version, counters(name, version)),
    counters,
    forget: (name, version) => {
      const versions = models.get(name);
      versions?.delete(version);
      if (versions?.size === 0) models.delete(name);
    },
  };
};
