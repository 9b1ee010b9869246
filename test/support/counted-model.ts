import type { Subscription } from 'rxjs';
import { LocalCache } from '../../src/caches/local/local-cache.ts';
import { noCacheStageCounters, responseCache } from '../../src/operators/cache/response-cache.ts';
import { requestLayers } from '../../src/operators/layers/request-layers.ts';
import { RateLimiter } from '../../src/operators/rate-limiter/rate-limiter.ts';
import { type RunningModel, runModel } from '../../src/operators/run-model.ts';
import { noOrderCounters } from '../../src/streams/flow/in-order.ts';
import type { InferError } from '../../src/streams/inference/error.ts';
import type { ModelSpec } from '../../src/streams/inference/model-spec.ts';
import type { InferRequest } from '../../src/streams/inference/request.ts';
import type { Shape } from '../../src/streams/tensors/shape.ts';
import { createMetrics } from '../../src/telemetry/prometheus.ts';
import { createStatistics } from '../../src/telemetry/statistics.ts';
import { HandInstance, living, makeLog, makePlacement, makeRequest, makeSpec, messageOf } from './model.ts';
import { parseExposition } from './parse-exposition.ts';
import { VirtualTime } from './virtual-time.ts';

export interface CountedAsked {
  /** `waits`, `done`, or the error. */
  state: string;
  readonly caller: Subscription;
}

/** A whole model on virtual time, with layers, statistics and metrics, and one instance that answers when a test says so. */
export class CountedModel {
  readonly time = new VirtualTime();
  readonly instance = new HandInstance();
  readonly running: Subscription;
  readonly #spec: ModelSpec;
  readonly #statistics = createStatistics();
  #model: RunningModel | undefined;

  constructor(fields: Partial<ModelSpec> = {}) {
    const spec = makeSpec(fields);
    const [log, scheduler, { sink }] = [makeLog(), this.time, this.#statistics];
    const [counters, ordering] = [noCacheStageCounters(), noOrderCounters()];
    const cache = new LocalCache({ sizeBytes: 1_000_000, log });
    const layer = responseCache({ spec, cache, contentId: '', sink, scheduler, log, counters });
    this.#spec = spec;
    const placement = makePlacement({ resources: [{ name: 'R', count: 1, isGlobal: true }] });
    this.running = runModel({
      spec,
      placements: [{ placement, open: () => living(this.instance) }],
      layers: requestLayers({ spec, sink, scheduler, ordering }),
      ordering,
      ...(spec.usesCache ? { cache: { layer, counters } } : {}),
      rateLimiter: new RateLimiter({ resources: [], log }),
      sink,
      scheduler,
      log,
    }).subscribe((model) => {
      this.#model = model;
    });
  }

  get model(): RunningModel {
    if (this.#model === undefined) throw new Error('the model did not start');
    return this.#model;
  }

  /** Asks, and lets what can begin at once begin. */
  ask(fields: Partial<InferRequest> = {}, shape: Shape = [1, 4]): CountedAsked {
    const asked = { state: 'waits' };
    const caller = this.model.infer(makeRequest(fields, shape, Number(fields.sequenceId ?? 0n))).subscribe({
      error: (error: InferError) => {
        asked.state = messageOf(error);
      },
      complete: () => {
        asked.state = 'done';
      },
    });
    this.time.advance(0);
    return Object.assign(asked, { caller });
  }

  /** Ends the batch that runs after `ms`: a quarter of it each for inputs and outputs. */
  finishAfter(ms: number): void {
    const { batch } = this.instance.last;
    this.time.advance(ms / 4);
    batch.times.inputEndMs = this.time.now();
    this.time.advance(ms / 2);
    batch.times.outputStartMs = this.time.now();
    this.time.advance(ms / 4);
    this.instance.last.finish();
    this.time.advance(0);
  }

  get statistics() {
    return this.#statistics.of(this.#spec.name, this.#spec.version);
  }

  /** Requests by outcome: `2 done, 1 REJECTED`, then rows and executions, then executions by rows. */
  counts(): string {
    const { success, failures, inferences, executions } = this.#statistics.counters(this.#spec.name, this.#spec.version);
    const failed = Object.entries(failures).filter(([, count]) => count > 0);
    const outcomes = [`${success} done`, ...failed.map(([reason, count]) => `${count} ${reason}`)].join(', ');
    const batches = this.statistics.batch_stats.map(({ batch_size, compute_infer }) => `${compute_infer.count}x${batch_size}`);
    return `${outcomes}; ${inferences} rows, ${executions} runs${batches.map((batch) => ` ${batch}`).join('')}`;
  }

  /** Series of this model, by name and the labels besides model and version. */
  async metrics(): Promise<ReadonlyMap<string, number>> {
    const { values } = parseExposition(
      await createMetrics({
        statistics: this.#statistics,
        graphs: () => [this.model.graph()],
        loadSeconds: () => undefined,
        frontEnds: () => ({ grpc: undefined, http: undefined, webSocket: undefined }),
        cpu: false,
        counterLatencies: true,
        intervalMs: 1000,
      }).render(),
    );
    const shorten = (series: string) => series.replace(/model="m",|,?version="1"/g, '').replace('{}', '');
    return new Map([...values].map(([series, value]) => [shorten(series), value]));
  }

  /** Ends the model; returns the timers that are left. */
  stop(): number {
    this.running.unsubscribe();
    return this.time.pending;
  }
}
