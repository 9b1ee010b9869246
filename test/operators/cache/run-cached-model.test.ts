import type { Subscription } from 'rxjs';
import { beforeEach, describe, expect, it } from 'vitest';
import { SlowCache } from '../../../property-tests/models/slow-cache.ts';
import { LocalCache } from '../../../src/caches/local/local-cache.ts';
import { noCacheStageCounters, responseCache } from '../../../src/operators/cache/response-cache.ts';
import { requestLayers } from '../../../src/operators/layers/request-layers.ts';
import { type RunningModel, runModel } from '../../../src/operators/run-model.ts';
import type { InferError } from '../../../src/streams/inference/error.ts';
import type { InferRequest } from '../../../src/streams/inference/request.ts';
import type { ResponseCache } from '../../../src/streams/inference/response-cache.ts';
import { tensorStrings } from '../../../src/streams/tensors/tensor-values.ts';
import { createStatistics } from '../../../src/telemetry/statistics.ts';
import { HandInstance, living, makeLog, makePlacement, makeRequest, makeSpec, messageOf } from '../../support/model.ts';
import { until } from '../../support/until.ts';
import { VirtualTime } from '../../support/virtual-time.ts';

interface Heard {
  readonly answers: string[][];
  error: InferError | undefined;
}

describe('a model with a cache', () => {
  const spec = makeSpec({ usesCache: true });
  const local = (): ResponseCache => new LocalCache({ sizeBytes: 100_000, log: makeLog() });
  let time: VirtualTime;
  let instance: HandInstance;
  let statistics: ReturnType<typeof createStatistics>;
  let model: RunningModel;
  let life: Subscription;

  const start = (cache: ResponseCache): void => {
    time = new VirtualTime();
    instance = new HandInstance();
    statistics = createStatistics();
    const { sink } = statistics;
    const log = makeLog();
    const counters = noCacheStageCounters();
    life = runModel({
      spec,
      placements: [{ placement: makePlacement(), open: () => living(instance) }],
      layers: requestLayers({ spec, sink, scheduler: time }),
      cache: { layer: responseCache({ spec, cache, contentId: '', sink, scheduler: time, log, counters }), counters },
      sink,
      scheduler: time,
      log,
    }).subscribe((running) => {
      model = running;
    });
  };

  const ask = (fields: Partial<InferRequest> = {}): Heard => {
    const heard: Heard = { answers: [], error: undefined };
    model.infer(makeRequest(fields, [1, 4], 5)).subscribe({
      next: ({ outputs }) =>
        heard.answers.push(
          [...outputs.values()].flatMap((tensor) => (tensor.datatype === 'BYTES' ? tensorStrings(tensor) : [[...tensor.bytes].join()])),
        ),
      error: (error: InferError) => {
        heard.error = error;
      },
    });
    return heard;
  };

  const run = (): void => {
    time.advance(0);
    instance.last.finish();
  };

  beforeEach(() => start(local()));

  it('shows the cache as its first stage, and counts what it answered as success', () => {
    ask();
    ask();
    time.advance(0);
    const [first] = model.graph().stages;
    expect(first).toEqual({ name: 'cache', in: 2, out: 0, failed: 0, queued: 1, running: 1, limit: 1000 });
    run();
    expect(ask().answers).toEqual([['5,5,5,5']]);
    expect(model.graph().stages.map(({ in: entered, out, queued, running }) => [entered, out, queued, running])).toEqual([
      [3, 3, 0, 0],
      [1, 1, 0, 0],
      [1, 1, 0, 0],
    ]);
    const counted = statistics.of('m', '1').inference_stats;
    expect([counted.success, counted.compute_infer, counted.cache_hit, counted.cache_miss].map(({ count }) => count)).toEqual([3, 1, 2, 1]);
    expect(statistics.of('m', '1')).toMatchObject({ inference_count: 1, execution_count: 1 });
  });

  it('makes classes of what was kept', () => {
    const outputs = [{ name: 'OUT', classification: 2 }];
    ask({ outputs });
    run();
    expect(ask({ outputs }).answers).toEqual([['5:0', '5:1']]);
    expect(instance.runs.length).toBe(1);
  });

  it('keeps nothing that is not right, and asks it nothing', () => {
    expect(messageOf(ask({ outputs: [{ name: 'NONE', classification: 0 }] }).error)).toMatch(/unexpected inference output 'NONE'/);
    expect(model.graph().stages[0]?.in).toBe(0);
  });

  it('refuses everybody once it drains, whatever it has kept', async () => {
    ask();
    run();
    const inside = ask({ parameters: new Map([['p', 1n]]) });
    const joined = ask({ parameters: new Map([['p', 1n]]) });
    const drained = model.drain();
    await Promise.resolve();
    expect(messageOf(ask({ id: 'x' }).error)).toBe(
      'UNAVAILABLE [request id: x] Server is stopping, scheduler for model has stopped accepting new inference requests',
    );
    run();
    await drained;
    expect([inside, joined].map(({ answers }) => answers.length)).toEqual([1, 1]);
  });

  it('serves who was looking into the cache when it began to drain', async () => {
    const slow = new SlowCache(local());
    start(slow);
    const heard = ask();
    let isDrained = false;
    void model.drain().then(() => {
      isDrained = true;
    });
    slow.answer();
    await until(() => model.graph().stages[1]?.queued === 1);
    expect(isDrained).toBe(false);
    run();
    expect(heard.answers.length).toBe(1);
    await until(() => isDrained);
  });

  it('fails who was looking into the cache when it ended', async () => {
    const slow = new SlowCache(local());
    start(slow);
    const heard = ask();
    life.unsubscribe();
    slow.answer();
    await until(() => heard.error !== undefined);
    expect(heard.error?.code).toBe('UNAVAILABLE');
  });

  it('answers nobody once it has ended, whatever it has kept', () => {
    ask();
    run();
    life.unsubscribe();
    expect(ask().error?.code).toBe('UNAVAILABLE');
  });

  it('fails who waits when it ends, each under its own id', () => {
    const heard = ['a', 'b'].map((id) => ask({ id }));
    life.unsubscribe();
    expect(heard.map(({ error }) => messageOf(error).slice(0, 28))).toEqual([
      'UNAVAILABLE [request id: a] ',
      'UNAVAILABLE [request id: b] ',
    ]);
  });
});
