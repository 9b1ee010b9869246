import type { BufferCounters } from '../streams/flow/buffer-when-free.ts';
import type { OrderCounters } from '../streams/flow/in-order.ts';
import type { PriorityLane } from '../streams/flow/priority-lane.ts';
import type { ShareCounters } from '../streams/flow/share-permits.ts';
import type {
  GraphEdge,
  InstanceCounters,
  ModelGraph,
  QueueGauge,
  StageCounters,
  WarmUpCounters,
} from '../streams/inference/model-graph.ts';
import type { ModelSpec } from '../streams/inference/model-spec.ts';
import { queueLimit } from './batching/queue-policy.ts';
import { type RunCounters, releasedLimit } from './batching/run-batch.ts';
import type { CacheStageCounters } from './cache/response-cache.ts';
import type { Call } from './call.ts';
import { heldAnswersLimit, preservesOrdering } from './layers/preserve-ordering.ts';
import type { OpenSequences } from './sequences/open-sequences.ts';

export interface GraphOfConfig {
  readonly spec: ModelSpec;
  /** Undefined without a cache. */
  readonly cache: CacheStageCounters | undefined;
  readonly queue: BufferCounters;
  readonly running: RunCounters;
  /** Of a model with levels, once it runs. */
  readonly lane: PriorityLane<Call> | undefined;
  /** Of a sequence model. */
  readonly backlog: OpenSequences['backlog'];
  readonly ordering: OrderCounters;
  readonly warmUps: WarmUpCounters;
  /** Undefined without a rate limiter. */
  readonly rateLimiter: ShareCounters | undefined;
  readonly instances: InstanceCounters;
  /** Instances that take requests. */
  readonly active: number;
}

/** A client may name any level: those that are shown must not be more than a scrape can take. */
const mostLevels = 100;

/** Of a model with few levels all of them, else the most urgent ones in which something waits. */
const levelsOf = ({ spec, lane }: GraphOfConfig): readonly QueueGauge[] => {
  const { priorityLevels = 0n, defaultQueuePolicy, queuePolicies } = spec.dynamicBatching ?? {};
  const shown = new Map<bigint, QueueGauge>();
  for (let level = 1n; level <= priorityLevels && priorityLevels <= mostLevels; level++) {
    const limit = (queuePolicies?.get(level) ?? defaultQueuePolicy)?.maxQueueSize ?? 0;
    shown.set(level, { name: `level-${level}`, queued: 0, limit });
  }
  if (priorityLevels === 0n || lane === undefined) return [...shown.values()];
  for (const { rank, length, limit } of lane.levels()) {
    if (shown.size >= mostLevels && !shown.has(rank)) break;
    shown.set(rank, { name: `level-${rank}`, queued: length, limit });
  }
  return [...shown.values()];
};

/** Requests that wait beside their slots or in them, and those of sequences that have none. */
const sequenceQueues = ({ spec, queue, backlog }: GraphOfConfig): readonly QueueGauge[] => {
  if (spec.sequenceBatching === undefined) return [];
  const limit = queueLimit(spec);
  return [
    { name: 'slots', queued: queue.queued - backlog.requests, limit },
    { name: 'backlog', queued: backlog.requests, limit },
  ];
};

const queuesOf = (config: GraphOfConfig): readonly QueueGauge[] => {
  const { spec, running, ordering, rateLimiter, active } = config;
  const queues: QueueGauge[] = [...levelsOf(config), ...sequenceQueues(config)];
  if (preservesOrdering(spec)) queues.push({ name: 'order', queued: ordering.held, limit: heldAnswersLimit });
  if (spec.decoupled) queues.push({ name: 'released', queued: running.released, limit: releasedLimit });
  if (rateLimiter !== undefined) queues.push({ name: 'rate-limiter', queued: rateLimiter.waiting, limit: active });
  return queues;
};

/** One stage behind the other. */
const edgesOf = (stages: readonly StageCounters[]): readonly GraphEdge[] => {
  const names = ['request', ...stages.map(({ name }) => name), 'response'];
  return names.slice(1).map((to, index) => ({ from: names[index] ?? '', to }));
};

/** What a model's parts have counted, as data. */
export const graphOf = (config: GraphOfConfig): ModelGraph => {
  const { spec, cache, queue, running, warmUps, instances } = config;
  const queues = queuesOf(config);
  const stages: readonly StageCounters[] = [
    ...(cache === undefined ? [] : [{ name: 'cache', ...cache, limit: queueLimit(spec) }]),
    {
      name: 'queue',
      in: queue.in,
      out: queue.out,
      failed: queue.rejected + queue.withdrawn + queue.forgotten,
      queued: queue.queued,
      running: 0,
      limit: queueLimit(spec),
    },
    { name: 'run', in: running.in, out: running.out, failed: running.failed, queued: 0, running: running.running, limit: 0 },
  ];
  return {
    model: spec.name,
    version: spec.version,
    stages,
    edges: edgesOf(stages),
    ...(queues.length > 0 ? { queues } : {}),
    ...(spec.warmups.length > 0 ? { warmUp: { ...warmUps } } : {}),
    instances,
  };
};
