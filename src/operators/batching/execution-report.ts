import type { Scheduler } from '../../streams/flow/clock.ts';
import { epochMs } from '../../streams/flow/clock.ts';
import type { BatchTimes } from '../../streams/inference/backend.ts';
import type { EventSink } from '../../streams/inference/events.ts';
import type { ModelSpec } from '../../streams/inference/model-spec.ts';
import type { ComputeTimes } from '../../streams/inference/request.ts';
import type { Call } from '../call.ts';

export interface ReportConfig {
  readonly spec: Pick<ModelSpec, 'name' | 'version'>;
  readonly sink: EventSink;
  readonly scheduler: Scheduler;
}

/** What statistics are told of one execution. */
export class ExecutionReport {
  readonly #config: ReportConfig;
  readonly startMs: number;
  readonly times: BatchTimes = { inputEndMs: 0, outputStartMs: 0 };
  /** Of the whole batch, those included that only fill it up. */
  rows = 0;
  #succeeded = 0;
  #succeededRows = 0;
  #queueMs = 0;

  constructor(config: ReportConfig) {
    this.#config = config;
    this.startMs = config.scheduler.now();
  }

  /** Its inputs are where the model reads them. */
  get inputEndMs(): number {
    return this.times.inputEndMs || this.startMs;
  }

  succeeded(call: Call): void {
    this.#succeeded++;
    this.#succeededRows += call.rows;
    this.#queueMs += this.startMs - call.queuedSinceMs;
    if (call.request.spent !== undefined) this.#charge(call.request.spent);
  }

  /** The whole of the batch so far, to each of its requests that wants to know. */
  #charge(spent: ComputeTimes): void {
    const nowMs = this.#config.scheduler.now();
    const { inputEndMs } = this;
    const outputStartMs = this.times.outputStartMs || nowMs;
    spent.inputMs += Math.max(0, inputEndMs - this.startMs);
    spent.inferMs += Math.max(0, outputStartMs - inputEndMs);
    spent.outputMs += Math.max(0, nowMs - outputStartMs);
  }

  /** It has ended: nothing is told of one without success. */
  send(): void {
    if (this.#succeeded === 0) return;
    const { spec, sink, scheduler } = this.#config;
    const endMs = scheduler.now();
    const { inputEndMs } = this;
    const outputStartMs = this.times.outputStartMs || endMs;
    sink({
      kind: 'batch-executed',
      model: spec.name,
      version: spec.version,
      rows: this.rows,
      succeeded: this.#succeeded,
      succeededRows: this.#succeededRows,
      queueMs: this.#queueMs,
      computeInputMs: Math.max(0, inputEndMs - this.startMs),
      computeInferMs: Math.max(0, outputStartMs - inputEndMs),
      computeOutputMs: Math.max(0, endMs - outputStartMs),
      endedAtMs: epochMs(),
    });
  }
}
