import { Observable } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { noRunCounters, releasedLimit } from '../../src/operators/batching/run-batch.ts';
import { Call } from '../../src/operators/call.ts';
import { type GraphOfConfig, graphOf } from '../../src/operators/graph-of.ts';
import { heldAnswersLimit } from '../../src/operators/layers/preserve-ordering.ts';
import { noBufferCounters } from '../../src/streams/flow/buffer-when-free.ts';
import { noOrderCounters } from '../../src/streams/flow/in-order.ts';
import { PriorityLane } from '../../src/streams/flow/priority-lane.ts';
import { noShareCounters } from '../../src/streams/flow/share-permits.ts';
import type { ModelSpec } from '../../src/streams/inference/model-spec.ts';
import { makeBatching, makeQueuePolicy, makeRequest, makeSpec } from '../support/model.ts';
import { makeSequenceBatching } from '../support/sequences.ts';

const graph = (spec: Partial<ModelSpec> = {}, fields: Partial<GraphOfConfig> = {}) =>
  graphOf({
    spec: makeSpec(spec),
    cache: undefined,
    queue: noBufferCounters(),
    running: noRunCounters(),
    lane: undefined,
    backlog: { requests: 0 },
    ordering: noOrderCounters(),
    warmUps: { in: 0, out: 0, failed: 0, running: 0 },
    rateLimiter: undefined,
    instances: { total: 1, alive: 1, busy: 0 },
    active: 1,
    ...fields,
  });

const levels = (count: bigint, fields = {}) => ({
  dynamicBatching: makeBatching({ priorityLevels: count, defaultPriorityLevel: 1n, ...fields }),
});

/** One waiting call of each of these levels, each of which holds 7. */
const laneOf = (...priorities: readonly bigint[]): PriorityLane<Call> => {
  const rule = { limit: 7, whenDue: 'reject', deadlineMs: () => Number.POSITIVE_INFINITY } as const;
  const lane = new PriorityLane<Call>({ levelOf: ({ request }) => request.priority, ruleOf: () => rule });
  for (const priority of priorities) {
    new Observable((caller) => {
      const request = makeRequest({ priority });
      lane.push(new Call({ request, rows: 1, shapeKey: '', arrivedMs: 0, caller, holder: { cancel: () => {} } }));
    }).subscribe();
  }
  return lane;
};

describe('graphOf', () => {
  it('shows stages one behind the other, the cache first, and no queues where there are none', () => {
    const queue = { in: 15, out: 4, rejected: 1, withdrawn: 2, forgotten: 3, queued: 5 };
    const running = { ...noRunCounters(), in: 4, out: 1, failed: 1, running: 2 };
    const plain = graph({ maxQueueSize: 9 }, { queue, running });
    expect(plain.stages).toEqual([
      { name: 'queue', in: 15, out: 4, failed: 6, queued: 5, running: 0, limit: 9 },
      { name: 'run', in: 4, out: 1, failed: 1, queued: 0, running: 2, limit: 0 },
    ]);
    const edges = (names: readonly string[]) => names.slice(1).map((to, index) => ({ from: names[index], to }));
    expect(plain.edges).toEqual(edges(['request', 'queue', 'run', 'response']));
    expect([plain.queues, plain.warmUp, plain.model, plain.version]).toEqual([undefined, undefined, 'm', '1']);
    const counters = { in: 3, out: 1, failed: 0, queued: 2, running: 0 };
    const cached = graph({}, { cache: counters });
    expect(cached.stages[0]).toEqual({ name: 'cache', ...counters, limit: 1000 });
    expect(cached.edges).toEqual(edges(['request', 'cache', 'queue', 'run', 'response']));
  });

  it('shows all of few levels, what waits in each, and how much may', () => {
    const spec = levels(3n, {
      defaultQueuePolicy: makeQueuePolicy({ maxQueueSize: 5 }),
      queuePolicies: new Map([[2n, makeQueuePolicy({ maxQueueSize: 4 })]]),
    });
    const idle = [
      { name: 'level-1', queued: 0, limit: 5 },
      { name: 'level-2', queued: 0, limit: 4 },
      { name: 'level-3', queued: 0, limit: 5 },
    ];
    expect(graph(spec).queues).toEqual(idle);
    expect(graph(spec, { lane: laneOf(3n, 3n, 1n) }).queues).toEqual([
      { name: 'level-1', queued: 1, limit: 7 },
      { name: 'level-2', queued: 0, limit: 4 },
      { name: 'level-3', queued: 2, limit: 7 },
    ]);
    expect(graph({}, { lane: laneOf(0n) }).queues).toBeUndefined();
  });

  it('shows all of a hundred levels, and of more the hundred most urgent in which something waits', () => {
    const names = (count: bigint, lane?: PriorityLane<Call>) => graph(levels(count), { lane }).queues?.map(({ name }) => name) ?? [];
    expect(names(100n)).toHaveLength(100);
    expect(names(100n, laneOf(1n, 100n))).toHaveLength(100);
    expect(names(101n)).toEqual([]);
    expect(names(101n, laneOf(101n, 7n))).toEqual(['level-7', 'level-101']);
    const many = names(1000n, laneOf(...Array.from({ length: 150 }, (_, n) => BigInt(2 * n + 1))));
    expect([many.length, many[0], many.at(-1)]).toEqual([100, 'level-1', 'level-199']);
  });

  it('shows what waits in slots and for one', () => {
    const sequences = { dynamicBatching: undefined, sequenceBatching: makeSequenceBatching() };
    const queue = { ...noBufferCounters(), in: 7, queued: 7 };
    expect(graph(sequences, { queue, backlog: { requests: 3 } }).queues).toEqual([
      { name: 'slots', queued: 4, limit: 1000 },
      { name: 'backlog', queued: 3, limit: 1000 },
    ]);
  });

  it('shows what waits for its turn, runs without an instance, or asks for a share', () => {
    const spec = { decoupled: true, dynamicBatching: makeBatching({ preserveOrdering: true }) };
    const ordering = { ...noOrderCounters(), held: 2 };
    const running = { ...noRunCounters(), released: 3 };
    const rateLimiter = { ...noShareCounters(), waiting: 1 };
    expect(graph(spec, { ordering, running, rateLimiter, active: 4 }).queues).toEqual([
      { name: 'order', queued: 2, limit: heldAnswersLimit },
      { name: 'released', queued: 3, limit: releasedLimit },
      { name: 'rate-limiter', queued: 1, limit: 4 },
    ]);
  });
});
