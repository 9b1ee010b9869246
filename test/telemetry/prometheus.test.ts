import { describe, expect, it } from 'vitest';
import { LocalCache } from '../../src/caches/local/local-cache.ts';
import type { ModelGraph } from '../../src/streams/inference/model-graph.ts';
import type { FrontEndMetrics } from '../../src/telemetry/front-end-families.ts';
import { createMetrics } from '../../src/telemetry/prometheus.ts';
import { createStatistics } from '../../src/telemetry/statistics.ts';
import { makeLog } from '../support/model.ts';
import { parseExposition } from '../support/parse-exposition.ts';

const graph = (model: string, version = '1', queued = 0): ModelGraph => ({
  model,
  version,
  stages: [
    { name: 'validate', in: 5, out: 5, failed: 0, queued: 0, running: 0, limit: 0 },
    { name: 'batch', in: 5, out: 2, failed: 0, queued, running: 1, limit: 1000 },
  ],
  edges: [],
  instances: { total: 3, alive: 2, busy: 1 },
});

const noFrontEnds: FrontEndMetrics = { grpc: undefined, http: undefined, webSocket: undefined };

const setUp = (graphs: ModelGraph[], changes: Partial<Parameters<typeof createMetrics>[0]> = {}) => {
  const statistics = createStatistics();
  const metrics = createMetrics({
    statistics,
    graphs: () => graphs,
    cpu: false,
    counterLatencies: true,
    intervalMs: 2000,
    loadSeconds: () => undefined,
    frontEnds: () => noFrontEnds,
    ...changes,
  });
  return { sink: statistics.sink, metrics };
};

describe('metrics', () => {
  it('show every series of a model with 0 when it is loaded, labels in alphabetical order', async () => {
    const { metrics } = setUp([graph('m')]);
    const lines = (await metrics.render()).split('\n');
    expect(lines).toEqual(
      expect.arrayContaining([
        '# HELP nv_inference_request_success Number of successful inference requests, all batch sizes',
        '# TYPE nv_inference_request_success counter',
        'nv_inference_request_success{model="m",version="1"} 0',
        '# HELP nv_inference_request_failure Number of failed inference requests, all batch sizes',
        'nv_inference_request_failure{model="m",reason="REJECTED",version="1"} 0',
        'nv_inference_request_failure{model="m",reason="CANCELED",version="1"} 0',
        'nv_inference_request_failure{model="m",reason="BACKEND",version="1"} 0',
        'nv_inference_request_failure{model="m",reason="OTHER",version="1"} 0',
        '# HELP nv_inference_count Number of inferences performed (does not include cached requests)',
        'nv_inference_count{model="m",version="1"} 0',
        '# HELP nv_inference_exec_count Number of model executions performed (does not include cached requests)',
        'nv_inference_exec_count{model="m",version="1"} 0',
        'nv_inference_request_duration_us{model="m",version="1"} 0',
        'nv_inference_queue_duration_us{model="m",version="1"} 0',
        'nv_inference_compute_input_duration_us{model="m",version="1"} 0',
        'nv_inference_compute_infer_duration_us{model="m",version="1"} 0',
        'nv_inference_compute_output_duration_us{model="m",version="1"} 0',
        '# HELP nv_inference_pending_request_count Instantaneous number of pending requests awaiting execution per-model.',
        '# TYPE nv_inference_pending_request_count gauge',
        'nv_inference_pending_request_count{model="m",version="1"} 0',
      ]),
    );
    expect(metrics.contentType).toBe('text/plain; charset=utf-8');
  });

  it('do not announce families without a series', async () => {
    const { metrics } = setUp([]);
    expect(await metrics.render()).not.toMatch(/nv_|weir_/);
  });

  it('read what was counted, durations in whole microseconds', async () => {
    const { metrics, sink } = setUp([graph('m', '3')]);
    sink({ kind: 'request-ended', model: 'm', version: '3', failure: undefined, durationMs: 1.2345678 });
    sink({ kind: 'request-ended', model: 'm', version: '3', failure: 'CANCELED', durationMs: 9 });
    sink({
      kind: 'batch-executed',
      model: 'm',
      version: '3',
      rows: 5,
      succeeded: 2,
      succeededRows: 5,
      queueMs: 0.5,
      computeInputMs: 0.25,
      computeInferMs: 2,
      computeOutputMs: 0.0009,
      endedAtMs: 1,
    });
    const { values } = parseExposition(await metrics.render());
    expect(values.get('nv_inference_request_success{model="m",version="3"}')).toBe(1);
    expect(values.get('nv_inference_request_failure{model="m",reason="CANCELED",version="3"}')).toBe(1);
    expect(values.get('nv_inference_request_failure{model="m",reason="OTHER",version="3"}')).toBe(0);
    expect(values.get('nv_inference_count{model="m",version="3"}')).toBe(5);
    expect(values.get('nv_inference_exec_count{model="m",version="3"}')).toBe(1);
    expect(values.get('nv_inference_request_duration_us{model="m",version="3"}')).toBe(1234);
    expect(values.get('nv_inference_queue_duration_us{model="m",version="3"}')).toBe(500);
    expect(values.get('nv_inference_compute_input_duration_us{model="m",version="3"}')).toBe(500);
    expect(values.get('nv_inference_compute_infer_duration_us{model="m",version="3"}')).toBe(4000);
    expect(values.get('nv_inference_compute_output_duration_us{model="m",version="3"}')).toBe(1);
  });

  it('show queues, their limits, batch sizes and instances', async () => {
    const { metrics, sink } = setUp([graph('m', '1', 7)]);
    for (const rows of [1, 3, 3, 4, 600]) {
      sink({
        kind: 'batch-executed',
        model: 'm',
        version: '1',
        rows,
        succeeded: 1,
        succeededRows: rows,
        queueMs: 0,
        computeInputMs: 0,
        computeInferMs: 0,
        computeOutputMs: 0,
        endedAtMs: 0,
      });
    }
    const { values, types } = parseExposition(await metrics.render());
    expect(values.get('nv_inference_pending_request_count{model="m",version="1"}')).toBe(7);
    expect(values.get('weir_model_queue_length{model="m",stage="batch",version="1"}')).toBe(7);
    expect(values.get('weir_model_queue_limit{model="m",stage="batch",version="1"}')).toBe(1000);
    expect(values.has('weir_model_queue_length{model="m",stage="validate",version="1"}')).toBe(false);
    expect(values.get('weir_model_instances{model="m",state="total",version="1"}')).toBe(3);
    expect(values.get('weir_model_instances{model="m",state="alive",version="1"}')).toBe(2);
    expect(values.get('weir_model_instances{model="m",state="busy",version="1"}')).toBe(1);
    expect(types.get('weir_batch_size')).toBe('histogram');
    const bucket = (le: string) => values.get(`weir_batch_size_bucket{model="m",version="1",le="${le}"}`);
    expect([bucket('1'), bucket('2'), bucket('4'), bucket('512'), bucket('+Inf')]).toEqual([1, 1, 4, 4, 5]);
    expect(values.get('weir_batch_size_sum{model="m",version="1"}')).toBe(611);
    expect(values.get('weir_batch_size_count{model="m",version="1"}')).toBe(5);
  });

  it('show queues beside the stages, without counting their requests again', async () => {
    const { metrics } = setUp([{ ...graph('m', '1', 2), queues: [{ name: 'order', queued: 3, limit: 16 }] }]);
    const { values } = parseExposition(await metrics.render());
    expect(values.get('weir_model_queue_length{model="m",stage="order",version="1"}')).toBe(3);
    expect(values.get('weir_model_queue_limit{model="m",stage="order",version="1"}')).toBe(16);
    expect(values.get('nv_inference_pending_request_count{model="m",version="1"}')).toBe(2);
  });

  it('tell of the cache, and of the models that use it alone', async () => {
    const cached = { name: 'cache', in: 1, out: 1, failed: 0, queued: 0, running: 0, limit: 100 };
    const cache = new LocalCache({ sizeBytes: 1000, log: makeLog() });
    const graphs = [graph('plain'), { ...graph('m'), stages: [cached, ...graph('m').stages] }];
    const { values } = parseExposition(await setUp(graphs, { cache }).metrics.render());
    expect(values.get('nv_cache_num_entries')).toBe(0);
    expect(values.get('nv_cache_num_hits_per_model{model="m",version="1"}')).toBe(0);
    expect(values.get('nv_cache_num_hits_per_model{model="plain",version="1"}')).toBeUndefined();
    expect(await setUp([graph('m')]).metrics.render()).not.toContain('nv_cache');
    expect(await setUp(graphs, { cache, counterLatencies: false }).metrics.render()).not.toContain('per_model');
  });

  it('lose the series of a model that is unloaded, and stay readable while models come and go', async () => {
    const graphs = [graph('stays')];
    const { metrics } = setUp(graphs);
    for (let round = 0; round < 200; round++) {
      if (round % 2 === 0) graphs.push(graph('goes', '1'));
      else graphs.pop();
      const { values } = parseExposition(await metrics.render());
      expect(values.has('nv_inference_count{model="stays",version="1"}')).toBe(true);
      expect(values.has('nv_inference_count{model="goes",version="1"}')).toBe(round % 2 === 0);
    }
  });

  it('escape what a model may be called', async () => {
    const { metrics } = setUp([graph('a"b\\c\nd')]);
    const text = await metrics.render();
    expect(text).toContain('nv_inference_count{model="a\\"b\\\\c\\nd",version="1"} 0');
    expect(parseExposition(text).values.size).toBeGreaterThan(0);
  });

  it('leave durations out with counter_latencies off, and count all the same', async () => {
    const { metrics, sink } = setUp([graph('m')], { counterLatencies: false });
    sink({ kind: 'request-ended', model: 'm', version: '1', failure: undefined, durationMs: 1 });
    const text = await metrics.render();
    expect(text).not.toContain('duration_us');
    expect(text).toContain('nv_inference_request_success{model="m",version="1"} 1');
  });

  it('show the load time where it is known', async () => {
    const { metrics } = setUp([graph('m'), graph('n')], { loadSeconds: (model) => (model === 'm' ? 1.25 : undefined) });
    const { values } = parseExposition(await metrics.render());
    expect(values.get('nv_model_load_duration_secs{model="m",version="1"}')).toBe(1.25);
    expect(values.has('nv_model_load_duration_secs{model="n",version="1"}')).toBe(false);
  });

  it('count WebSocket connections and how they ended', async () => {
    const webSocket = {
      open: 4,
      requestsInFlight: 9,
      outboxBytes: 77,
      closes: new Map([
        [1006, 2],
        [1000, 5],
      ]),
    };
    const { metrics } = setUp([], { frontEnds: () => ({ ...noFrontEnds, webSocket }) });
    const { values } = parseExposition(await metrics.render());
    expect(Object.fromEntries(values)).toEqual({
      weir_websocket_connections: 4,
      weir_websocket_requests_in_flight: 9,
      weir_websocket_outbox_bytes: 77,
      'weir_websocket_closes_total{code="1000"}': 5,
      'weir_websocket_closes_total{code="1006"}': 2,
    });
  });

  it('show what waits in the other front ends, as it is at each scrape', async () => {
    const waiting = { waitingCalls: 2, waitingCallBytes: 11, messageBytes: 12, messageBytesLimit: 2 ** 30 };
    const grpc = { calls: 5, requestsInFlight: 4, outboxBytes: 33, ...waiting };
    let http = { waitingRequests: 3, heldBodyBytes: 65536, bodyBytesLimit: 2 ** 30 };
    const { metrics } = setUp([], { frontEnds: () => ({ ...noFrontEnds, grpc, http }) });
    const { values, types } = parseExposition(await metrics.render());
    expect(Object.fromEntries(values)).toEqual({
      weir_grpc_calls: 5,
      weir_grpc_requests_in_flight: 4,
      weir_grpc_outbox_bytes: 33,
      weir_grpc_waiting_calls: 2,
      weir_grpc_waiting_call_bytes: 11,
      weir_http_waiting_requests: 3,
      weir_grpc_message_bytes: 12,
      weir_grpc_message_bytes_limit: 2 ** 30,
      weir_http_body_bytes: 65536,
      weir_http_body_bytes_limit: 2 ** 30,
    });
    expect(new Set(types.values())).toEqual(new Set(['gauge']));
    http = { ...http, waitingRequests: 0 };
    expect(parseExposition(await metrics.render()).values.get('weir_http_waiting_requests')).toBe(0);
  });

  it.runIf(process.platform === 'linux')('measure processors and memory', async () => {
    const { metrics } = setUp([], { cpu: true });
    const { values } = parseExposition(await metrics.render());
    const total = values.get('nv_cpu_memory_total_bytes') ?? 0;
    const used = values.get('nv_cpu_memory_used_bytes') ?? 0;
    const utilization = values.get('nv_cpu_utilization') ?? -1;
    expect(total).toBeGreaterThan(1 << 20);
    expect(used).toBeGreaterThan(0);
    expect(used).toBeLessThan(total);
    expect(utilization).toBeGreaterThanOrEqual(0);
    expect(utilization).toBeLessThanOrEqual(1);
  });
});
