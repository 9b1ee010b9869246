import type { FailureReason } from '../streams/inference/error.ts';
import type { ModelGraph, QueueGauge } from '../streams/inference/model-graph.ts';
import type { CachedVersion, CacheMetrics } from './cache-families.ts';
import { cachedModelFamilies, cacheFamilies } from './cache-families.ts';
import type { CpuMeter } from './cpu.ts';
import { createCpuMeter } from './cpu.ts';
import type { Distribution, Family, Sample } from './families.ts';
import { gauge, renderFamilies } from './families.ts';
import { type FrontEndMetrics, frontEndFamilies } from './front-end-families.ts';
import type { ModelCounters, Statistics } from './statistics.ts';

export interface MetricsConfig {
  readonly statistics: Pick<Statistics, 'counters'>;
  /** Every version that is ready: the series of exactly these are shown. */
  readonly graphs: () => readonly ModelGraph[];
  /** Seconds that loading took; undefined for a version that is not ready. */
  readonly loadSeconds: (model: string, version: string) => number | undefined;
  readonly frontEnds: () => FrontEndMetrics;
  /** What the code of models has made. */
  readonly models?: { families(): readonly Family[] };
  /** The server's cache, if it has one. */
  readonly cache?: CacheMetrics | undefined;
  /** `--allow-cpu-metrics`. */
  readonly cpu: boolean;
  /** `--metrics-config counter_latencies`. */
  readonly counterLatencies: boolean;
  /** `--metrics-interval-ms`: processor times are read at most every half of it. */
  readonly intervalMs: number;
}

export interface Metrics {
  /** As Triton names it. */
  readonly contentType: string;
  render(): Promise<string>;
}

/** One model version at the moment of a scrape. */
interface Row {
  readonly graph: ModelGraph;
  readonly counters: Readonly<ModelCounters>;
}

/** In the order in which Triton makes them. */
const failureReasons: readonly FailureReason[] = ['REJECTED', 'CANCELED', 'BACKEND', 'OTHER'];

const batchSizeBuckets = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

const modelLabels = ({ graph }: Row) => ({ model: graph.model, version: graph.version });

const microseconds = (ns: number): number => Math.trunc(ns / 1000);

type Metric = readonly [name: string, help: string, value: (row: Row) => number];

const counters: readonly Metric[] = [
  ['nv_inference_request_success', 'Number of successful inference requests, all batch sizes', (row) => row.counters.success],
  ['nv_inference_count', 'Number of inferences performed (does not include cached requests)', (row) => row.counters.inferences],
  ['nv_inference_exec_count', 'Number of model executions performed (does not include cached requests)', (row) => row.counters.executions],
];

const latencies: readonly Metric[] = [
  [
    'nv_inference_request_duration_us',
    'Cumulative inference request duration in microseconds (includes cached requests)',
    (row) => microseconds(row.counters.successNs),
  ],
  [
    'nv_inference_queue_duration_us',
    'Cumulative inference queuing duration in microseconds (includes cached requests)',
    (row) => microseconds(row.counters.queueNs),
  ],
  [
    'nv_inference_compute_input_duration_us',
    'Cumulative compute input duration in microseconds (does not include cached requests)',
    (row) => microseconds(row.counters.computeInputNs),
  ],
  [
    'nv_inference_compute_infer_duration_us',
    'Cumulative compute inference duration in microseconds (does not include cached requests)',
    (row) => microseconds(row.counters.computeInferNs),
  ],
  [
    'nv_inference_compute_output_duration_us',
    'Cumulative inference compute output duration in microseconds (does not include cached requests)',
    (row) => microseconds(row.counters.computeOutputNs),
  ],
];

const queued = (row: Row): number => row.graph.stages.reduce((sum, stage) => sum + stage.queued, 0);

const perModel = (kind: 'counter' | 'gauge', rows: readonly Row[], [name, help, value]: Metric): Family => ({
  kind,
  name,
  help,
  samples: rows.map((row) => ({ labels: modelLabels(row), value: value(row) })),
});

const failures = (rows: readonly Row[]): Family => ({
  kind: 'counter',
  name: 'nv_inference_request_failure',
  help: 'Number of failed inference requests, all batch sizes',
  samples: rows.flatMap(({ graph: { model, version }, counters }) =>
    failureReasons.map((reason) => ({ labels: { model, reason, version }, value: counters.failures[reason] })),
  ),
});

const loadDurations = (rows: readonly Row[], loadSeconds: MetricsConfig['loadSeconds']): Family => ({
  kind: 'gauge',
  name: 'nv_model_load_duration_secs',
  help: 'Model load time in seconds',
  samples: rows.flatMap((row) => {
    const value = loadSeconds(row.graph.model, row.graph.version);
    return value === undefined ? [] : [{ labels: modelLabels(row), value }];
  }),
});

/** A model that uses the cache has a stage for it. */
const isCached = ({ graph }: Row): boolean => graph.stages.some((stage) => stage.name === 'cache');
const toCachedVersion = (row: Row): CachedVersion => ({ labels: modelLabels(row), counters: row.counters });

/** One series for each stage of a model where requests may wait, and for each other queue that it has. */
const perQueue = (rows: readonly Row[], name: string, help: string, value: (queue: QueueGauge) => number): Family => ({
  kind: 'gauge',
  name,
  help,
  samples: rows.flatMap(({ graph: { model, version, stages, queues = [] } }) =>
    [...stages.filter((stage) => stage.limit > 0), ...queues].map((queue) => ({
      labels: { model, stage: queue.name, version },
      value: value(queue),
    })),
  ),
});

const batchSizes = (rows: readonly Row[]): Family => ({
  kind: 'histogram',
  name: 'weir_batch_size',
  help: 'Rows of the batches that were executed',
  buckets: batchSizeBuckets,
  samples: rows.map((row): Distribution => {
    const counts = new Map<number, number>();
    for (const [size, { executions }] of row.counters.batches) counts.set(size, executions);
    return { labels: modelLabels(row), counts };
  }),
});

const instances = (rows: readonly Row[]): Family => ({
  kind: 'gauge',
  name: 'weir_model_instances',
  help: 'Instances by state: total configured, alive, and busy with how many batches',
  samples: rows.flatMap(
    ({
      graph: {
        model,
        version,
        instances: { total, alive, busy },
      },
    }): Sample[] => [
      { labels: { model, state: 'total', version }, value: total },
      { labels: { model, state: 'alive', version }, value: alive },
      { labels: { model, state: 'busy', version }, value: busy },
    ],
  ),
});

const cpuFamilies = async (meter: CpuMeter | undefined): Promise<Family[]> => {
  const usage = await meter?.sample();
  if (usage === undefined) return [];
  return [
    gauge('nv_cpu_utilization', 'CPU utilization rate [0.0 - 1.0]', usage.utilization),
    gauge('nv_cpu_memory_total_bytes', 'CPU total memory (RAM), in bytes', usage.memoryTotalBytes),
    gauge('nv_cpu_memory_used_bytes', 'CPU used memory (RAM), in bytes', usage.memoryUsedBytes),
  ];
};

/**
 * Triton's metrics by their names, and Weir's own. Nothing is counted here: numbers are read where they are kept, when somebody scrapes.
 * The series of a model are there from its load on, and go when it is unloaded.
 */
export const createMetrics = (config: MetricsConfig): Metrics => {
  const meter = config.cpu ? createCpuMeter({ shortestIntervalMs: config.intervalMs / 2 }) : undefined;

  const row = (graph: ModelGraph): Row => ({ graph, counters: config.statistics.counters(graph.model, graph.version) });

  return {
    contentType: 'text/plain; charset=utf-8',
    render: async () => {
      const cpu = await cpuFamilies(meter);
      const rows = config.graphs().map(row);
      return renderFamilies([
        ...counters.map((metric) => perModel('counter', rows, metric)),
        failures(rows),
        ...(config.counterLatencies ? latencies.map((metric) => perModel('counter', rows, metric)) : []),
        ...(config.counterLatencies ? cachedModelFamilies(rows.filter(isCached).map(toCachedVersion)) : []),
        perModel('gauge', rows, [
          'nv_inference_pending_request_count',
          'Instantaneous number of pending requests awaiting execution per-model.',
          queued,
        ]),
        loadDurations(rows, config.loadSeconds),
        ...cpu,
        ...cacheFamilies(config.cache),
        perQueue(rows, 'weir_model_queue_length', 'Requests that wait at a stage of the model', (stage) => stage.queued),
        perQueue(rows, 'weir_model_queue_limit', 'Requests that may wait at a stage of the model', (stage) => stage.limit),
        batchSizes(rows),
        instances(rows),
        ...frontEndFamilies(config.frontEnds()),
        ...(config.models?.families() ?? []),
      ]);
    },
  };
};
