import { afterEach, describe, expect, it } from 'vitest';
import { InferError } from '../../src/streams/inference/error.ts';
import type { ModelSpec, SequenceBatching } from '../../src/streams/inference/model-spec.ts';
import { CountedModel } from '../support/counted-model.ts';
import { makeBatching, makePart, makeQueuePolicy, makeRequest } from '../support/model.ts';
import { makeSequenceBatching } from '../support/sequences.ts';

let model = new CountedModel();

/** The gauges return to zero, whatever the test did. */
afterEach(async () => {
  expect(model.stop()).toBe(0);
  for (const [series, value] of await model.metrics()) {
    if (/^nv_inference_pending|^weir_model_queue_length/.test(series)) expect([series, value]).toEqual([series, 0]);
  }
});

const start = (fields: Partial<ModelSpec> = {}): void => {
  model = new CountedModel(fields);
};

const ms = (count: number, sumMs: number) => ({ count, ns: sumMs * 1e6 });
const nothing = ms(0, 0);

describe('statistics of the default scheduler', () => {
  it('have the wait of each request, and the parts of its run', () => {
    start({ dynamicBatching: undefined });
    const asked = [model.ask(), model.ask()];
    model.finishAfter(8);
    model.finishAfter(4);
    expect(asked.map(({ state }) => state)).toEqual(['done', 'done']);
    expect(model.statistics.inference_stats).toEqual({
      success: ms(2, 8 + 12),
      fail: nothing,
      queue: ms(2, 8),
      compute_input: ms(2, 2 + 1),
      compute_infer: ms(2, 4 + 2),
      compute_output: ms(2, 2 + 1),
      cache_hit: nothing,
      cache_miss: nothing,
    });
    expect(model.counts()).toBe('2 done; 2 rows, 2 runs 2x1');
  });
});

describe('statistics of dynamic batching', () => {
  it('count rows, and charge each request of a batch with all of its time', () => {
    start();
    model.ask();
    model.ask({}, [2, 4]);
    model.ask({}, [3, 4]);
    model.finishAfter(4);
    model.finishAfter(8);
    expect(model.counts()).toBe('3 done; 6 rows, 2 runs 1x1 1x5');
    expect(model.statistics.inference_stats).toMatchObject({ queue: ms(3, 8), compute_infer: ms(3, 2 + 4 + 4) });
  });

  it('count by reason what a queue refuses, what times out, what is cancelled, and what the model fails', () => {
    const policy = makeQueuePolicy({ maxQueueSize: 2, defaultTimeoutMs: 10 });
    start({ dynamicBatching: makeBatching({ defaultQueuePolicy: policy }) });
    const running = model.ask();
    const late = model.ask();
    const gone = model.ask();
    const full = model.ask();
    gone.caller.unsubscribe();
    model.time.advance(11);
    expect([late.state, full.state]).toEqual([
      'UNAVAILABLE Request timeout expired',
      'UNAVAILABLE [request id: <id_unknown>] Exceeds maximum queue size',
    ]);
    expect(model.counts()).toBe('0 done, 2 REJECTED, 1 CANCELED; 0 rows, 0 runs');
    model.instance.last.fail(new InferError('INTERNAL', 'no'));
    expect(running.state).toBe('INTERNAL no');
    expect(model.counts()).toBe('0 done, 2 REJECTED, 1 CANCELED, 1 BACKEND; 0 rows, 0 runs');
    const { count, ns } = model.statistics.inference_stats.fail;
    expect([count, Math.round(ns / 1e6)]).toEqual([4, 0 + 0 + 10 + 11]);
  });

  it('leave out those of a batch that failed or went away, but not their rows of the batch', () => {
    start();
    model.ask();
    const asked = [model.ask(), model.ask(), model.ask()];
    model.finishAfter(4);
    asked[0]?.caller.unsubscribe();
    model.instance.last.answer(makePart(1, { error: new InferError('INTERNAL', 'this one') }));
    model.finishAfter(4);
    expect(model.counts()).toBe('2 done, 1 CANCELED, 1 BACKEND; 2 rows, 2 runs 1x1 1x3');
  });

  it('count nothing of what validation refuses', () => {
    start();
    expect(model.ask({}, [9, 4]).state).toMatch(/^INVALID_ARGUMENT/);
    expect(model.counts()).toBe('0 done; 0 rows, 0 runs');
  });

  it('show each priority level as a queue', async () => {
    start({
      dynamicBatching: makeBatching({
        priorityLevels: 3n,
        defaultPriorityLevel: 2n,
        queuePolicies: new Map([[3n, makeQueuePolicy({ maxQueueSize: 7 })]]),
      }),
    });
    for (const priority of [1n, 3n, 3n, 0n]) model.ask({ priority });
    const metrics = await model.metrics();
    const of = (name: string, stage: string) => metrics.get(`weir_model_queue_${name}{stage="${stage}"}`);
    expect(['level-1', 'level-2', 'level-3', 'queue'].map((stage) => of('length', stage))).toEqual([0, 1, 2, 3]);
    expect([of('limit', 'level-1'), of('limit', 'level-3')]).toEqual([1000, 7]);
    expect(metrics.get('nv_inference_pending_request_count')).toBe(3);
    model.finishAfter(0);
    model.finishAfter(0);
  });

  it('show no more than a hundred of very many levels, those in use', async () => {
    start({ dynamicBatching: makeBatching({ priorityLevels: 2n ** 64n - 1n, defaultPriorityLevel: 1n }) });
    for (let level = 0n; level < 150n; level++) model.ask({ priority: 2n ** 63n + level });
    const levels = [...(await model.metrics()).keys()].filter((series) => /queue_length.*level/.test(series));
    expect(levels).toHaveLength(100);
    expect(levels[0]).toBe(`weir_model_queue_length{stage="level-${2n ** 63n + 1n}"}`);
  });

  it('show answers that are held for earlier ones', async () => {
    start({ dynamicBatching: makeBatching({ preserveOrdering: true }) });
    model.ask();
    model.ask();
    model.ask();
    model.finishAfter(0);
    model.instance.last.answer(makePart(1));
    expect((await model.metrics()).get('weir_model_queue_length{stage="order"}')).toBe(1);
    expect(model.counts()).toBe('1 done; 1 rows, 1 runs 1x1');
    model.finishAfter(0);
    expect(model.counts()).toBe('3 done; 3 rows, 2 runs 1x1 1x2');
  });
});

describe('statistics of sequences', () => {
  const sequences = (batching: Partial<SequenceBatching> = {}, fields: Partial<ModelSpec> = {}): void =>
    start({ dynamicBatching: undefined, sequenceBatching: makeSequenceBatching(batching), ...fields });
  const oneCandidate = {
    kind: 'oldest',
    maxCandidateSequences: 1,
    preferredBatchSizes: [8],
    maxQueueDelayMs: 0,
    preserveOrdering: false,
  } as const;
  const direct = { kind: 'direct', maxQueueDelayMs: 0, minimumSlotUtilization: 0 } as const;

  const step = (sequenceId: bigint, flags = '') =>
    model.ask({ sequenceId, sequenceStart: flags.includes('S'), sequenceEnd: flags.includes('E') });

  it('file a direct batch under all of its rows, those included that fill it up, and count only those that somebody asked for', () => {
    sequences({ strategy: direct });
    for (const id of [1n, 2n, 3n]) step(id, 'S');
    model.finishAfter(4);
    model.finishAfter(4);
    step(3n, 'E');
    model.finishAfter(4);
    expect(model.counts()).toBe('4 done; 4 rows, 3 runs 1x1 2x3');
  });

  it('count from its arrival on the wait of a request behind the one before it', () => {
    sequences();
    for (const flags of ['S', '', 'E']) step(1n, flags);
    for (let n = 0; n < 3; n++) model.finishAfter(4);
    expect(model.statistics.inference_stats.queue).toEqual(ms(3, 0 + 4 + 8));
    expect(model.counts()).toBe('3 done; 3 rows, 3 runs 3x1');
  });

  it('count nothing of what belongs to no sequence', () => {
    sequences();
    expect(step(1n).state).toMatch(/must specify the START flag/);
    expect(step(0n, 'S').state).toMatch(/non-zero or non-empty correlation ID/);
    expect(model.ask({ sequenceId: 1n, sequenceStart: true }, [2, 4]).state).toMatch(/batch-size 1/);
    expect(model.counts()).toBe('0 done; 0 rows, 0 runs');
  });

  it('count by reason what expires in the backlog, what is cancelled, and what falls with it', () => {
    sequences({ strategy: oneCandidate });
    step(1n, 'S');
    const cancelled = step(1n);
    const behind = step(1n, 'E');
    const expired = model.ask({ sequenceId: 2n, sequenceStart: true, timeoutMicroseconds: 5000n });
    cancelled.caller.unsubscribe();
    model.time.advance(6);
    expect([behind.state, expired.state].map((state) => state.split(' ')[0])).toEqual(['CANCELLED', 'UNAVAILABLE']);
    model.finishAfter(0);
    expect(model.counts()).toBe('1 done, 1 REJECTED, 2 CANCELED; 1 rows, 1 runs 1x1');
  });

  it('show what waits in slots and what waits for one', async () => {
    sequences({ strategy: oneCandidate });
    step(1n, 'S');
    step(1n, 'E');
    for (const id of [2n, 3n]) step(id, 'SE');
    const metrics = await model.metrics();
    const of = (stage: string) => metrics.get(`weir_model_queue_length{stage="${stage}"}`);
    expect([of('slots'), of('backlog'), of('queue')]).toEqual([1, 2, 3]);
    expect(metrics.get('nv_inference_pending_request_count')).toBe(3);
    for (let n = 0; n < 4; n++) model.finishAfter(0);
  });

  it('count a request that runs as several steps once, with the rows and times of all of them', () => {
    sequences({ isIterative: true });
    const asked = step(1n, 'S');
    for (const isRescheduled of [true, true, false]) {
      model.time.advance(4);
      model.instance.last.answer(makePart(0, { isRescheduled }));
      model.instance.last.complete();
      model.time.advance(0);
    }
    expect(asked.state).toBe('done');
    expect(model.counts()).toBe('1 done; 3 rows, 3 runs 3x1');
    expect(model.statistics.inference_stats).toMatchObject({ success: ms(1, 12), compute_infer: ms(1, 12) });
  });
});

describe('statistics of the rest', () => {
  it('count answers from the cache as successes without a run, and who joins a run as a hit', () => {
    start({ usesCache: true });
    model.ask();
    model.ask();
    model.finishAfter(4);
    model.ask();
    expect(model.counts()).toBe('3 done; 1 rows, 1 runs 1x1');
    expect(model.statistics.inference_stats).toMatchObject({
      cache_hit: { count: 2 },
      cache_miss: { count: 1 },
      compute_infer: { count: 1 },
    });
  });

  it('show what waits for the run of an equal request', async () => {
    start({ usesCache: true });
    model.ask();
    model.ask();
    const metrics = await model.metrics();
    expect(metrics.get('weir_model_queue_length{stage="cache"}')).toBe(1);
    expect(metrics.get('nv_inference_pending_request_count')).toBe(1);
    model.finishAfter(0);
  });

  it('leave warm-up out', async () => {
    const warmups = [{ name: 'w', count: 3, requests: [makeRequest(), makeRequest()] }];
    start({ warmups });
    for (let n = 0; n < 3; n++) model.finishAfter(4);
    expect(model.model.graph().warmUp).toEqual({ in: 6, out: 6, failed: 0, running: 0 });
    expect(model.counts()).toBe('0 done; 0 rows, 0 runs');
    expect(model.statistics.last_inference).toBe(0);
  });

  it('have the answers of a decoupled model by their index, and one success for all of them', () => {
    start({ decoupled: true });
    model.ask();
    for (const isLast of [false, true]) {
      model.time.advance(2);
      model.instance.last.answer(makePart(0, { isLast, outputs: model.instance.last.batch.requests[0]?.inputs ?? new Map() }));
    }
    model.instance.last.complete();
    expect(model.counts()).toBe('1 done; 1 rows, 1 runs 1x1');
    expect(model.statistics.response_stats).toMatchObject({ 0: { success: ms(1, 2), fail: nothing }, 1: { success: ms(1, 2) } });
  });

  it('are the counters of a scrape', async () => {
    start();
    model.ask();
    model.ask();
    model.finishAfter(4);
    model.instance.last.fail(new Error('died'));
    const metrics = await model.metrics();
    const of = (name: string) => metrics.get(`nv_inference_${name}`);
    expect([of('request_success'), of('count'), of('exec_count')]).toEqual([1, 1, 1]);
    expect(['REJECTED', 'CANCELED', 'BACKEND', 'OTHER'].map((reason) => of(`request_failure{reason="${reason}"}`))).toEqual([0, 0, 1, 0]);
    expect([of('request_duration_us'), of('queue_duration_us'), of('compute_infer_duration_us')]).toEqual([4000, 0, 2000]);
  });
});
