import type { Observer, Subscriber, Subscription } from 'rxjs';
import { Observable } from 'rxjs';
import type { Granted } from '../streams/flow/buffer-when-free.ts';
import type { Scheduler } from '../streams/flow/clock.ts';
import { epochMs } from '../streams/flow/clock.ts';
import type { Batch, BatchTimes, Instance, Part } from '../streams/inference/backend.ts';
import { InferError, toInferError } from '../streams/inference/error.ts';
import type { EventSink } from '../streams/inference/events.ts';
import type { Log } from '../streams/inference/log.ts';
import type { ModelSpec } from '../streams/inference/model-spec.ts';
import type { InferResponse } from '../streams/inference/response.ts';
import type { Tensors } from '../streams/tensors/tensor.ts';
import type { Call, Cancellable } from './call.ts';
import { type BatchedSpec, type FormedBatch, formBatch } from './form-batch.ts';

/** Calls, except `batches`; `in = out + failed + running` at every moment. */
export interface RunCounters {
  in: number;
  out: number;
  failed: number;
  running: number;
  /** Running now. */
  batches: number;
}

export const noRunCounters = (): RunCounters => ({ in: 0, out: 0, failed: 0, running: 0, batches: 0 });

export interface RunBatchConfig {
  readonly spec: Pick<ModelSpec, 'name' | 'version' | 'decoupled'> & BatchedSpec;
  readonly sink: EventSink;
  readonly scheduler: Scheduler;
  readonly log: Log;
  readonly counters: RunCounters;
}

const noTensors: Tensors = new Map();

const rescheduleRefused =
  'Request is released with TRITONSERVER_REQUEST_RELEASE_RESCHEDULE, while the model is not configured to handle such a flag.';

/** Statistics and metrics count what an instance says against the backend. */
const backendError = (error: unknown): InferError => {
  const known = toInferError(error, 'BACKEND');
  return known.reason === 'OTHER' ? new InferError(known.code, known.message, { cause: known, reason: 'BACKEND' }) : known;
};

type BatchPlan = RunBatchConfig & { readonly form: ReturnType<typeof formBatch> };

class BatchRun implements Observer<Part>, Cancellable {
  readonly #config: BatchPlan;
  readonly #granted: Granted<Call, Instance>;
  readonly #ended: Subscriber<never>;
  readonly #startMs: number;
  readonly #times: BatchTimes = { inputEndMs: 0, outputStartMs: 0 };
  /** Answers so far to each call. */
  readonly #answers: number[] = [];
  #totalRows = 0;
  #open = 0;
  /** A request of a sequence is among them: the next one needs what this batch leaves behind. */
  #mustFinish = false;
  #succeeded = 0;
  #succeededRows = 0;
  #queueMs = 0;
  #isOver = false;
  #running: Subscription | undefined;
  #cut: FormedBatch['cut'];

  constructor(config: BatchPlan, granted: Granted<Call, Instance>, ended: Subscriber<never>) {
    this.#config = config;
    this.#granted = granted;
    this.#ended = ended;
    this.#startMs = config.scheduler.now();
    // Rows that only fill a batch up belong to nobody: their calls have ended before.
    for (const call of granted.items) if (call.isOpen) this.#open++;
  }

  start(): void {
    const { lease } = this.#granted;
    const { counters } = this.#config;
    counters.in += this.#open;
    counters.running += this.#open;
    counters.batches++;
    lease.onEnded = (error) => this.#lose(error);
    let parts$: Observable<Part>;
    try {
      parts$ = lease.resource.run(this.#batch());
    } catch (error) {
      this.error(error);
      return;
    }
    this.#running = parts$.subscribe(this);
    // It may be over already: by an answer or a cancellation within `subscribe`.
    if (this.#isOver) this.#running.unsubscribe();
  }

  next(part: Part): void {
    const call = this.#granted.items[part.of];
    if (call === undefined) {
      this.error(new InferError('INTERNAL', `${this.#model()} answered request ${part.of} of a batch of ${this.#granted.items.length}`));
      return;
    }
    const answers = (this.#answers[part.of] ?? 0) + 1;
    this.#answers[part.of] = answers;
    if (answers > 1 && !this.#config.spec.decoupled) {
      this.#refuseAnother(call, answers);
      return;
    }
    const cut = this.#cut === undefined ? part : this.#cut(part);
    const shown = call.step === undefined ? cut : call.step.take(cut);
    if (!this.#has(call)) return;
    if (shown.error !== undefined) {
      this.#fail(call, backendError(shown.error));
      return;
    }
    if (shown.isRescheduled) {
      this.#reschedule(call, shown);
      return;
    }
    const response = this.#response(call, shown);
    if (!part.isLast) {
      call.answer(response);
      return;
    }
    this.#succeed(call);
    call.answerLast(response);
  }

  /** Fails every call that has had no last answer. */
  error(error: unknown): void {
    this.#failAll(backendError(error));
    this.#ended.complete();
  }

  complete(): void {
    const { items } = this.#granted;
    for (let of = 0; of < items.length; of++) {
      const call = items[of];
      if (call === undefined || !this.#has(call)) continue;
      const answers = this.#answers[of] ?? 0;
      if (this.#config.spec.decoupled || answers === 1) {
        this.#succeed(call);
        call.complete();
      } else {
        this.#fail(call, this.#singleResponseError(answers));
      }
    }
    this.#ended.complete();
  }

  /** A caller has gone. When nobody is left the instance is told. */
  cancel(): void {
    this.#leave('failed');
    if (this.#open === 0 && !this.#mustFinish) this.#ended.complete();
  }

  /** However it ended. */
  end(): void {
    this.#isOver = true;
    this.#running?.unsubscribe();
    this.#failAll(this.#gone(undefined));
    this.#config.counters.batches--;
    this.#report();
    for (const call of this.#granted.items) call.step?.released();
    this.#granted.lease.release();
  }

  #batch(): Batch {
    const { items } = this.#granted;
    const requests = [];
    const rows = [];
    for (const call of items) {
      call.holder = this;
      if (call.step !== undefined) this.#mustFinish = true;
      requests.push(call.step === undefined ? call.request : call.step.request());
      rows.push(call.rows);
      this.#totalRows += call.rows;
    }
    const plain = { requests, rows, totalRows: this.#totalRows, wholeInputs: noTensors, times: this.#times };
    const formed = this.#config.form?.(plain);
    this.#cut = formed?.cut;
    return formed?.batch ?? plain;
  }

  #response(call: Call, part: Part): InferResponse {
    const { name, version } = this.#config.spec;
    return {
      modelName: name,
      modelVersion: version,
      id: call.request.id,
      parameters: part.parameters,
      outputs: part.outputs,
      isLast: part.isLast,
    };
  }

  #leave(as: 'out' | 'failed'): void {
    this.#open--;
    this.#config.counters.running--;
    this.#config.counters[as]++;
  }

  #succeed(call: Call): void {
    this.#leave('out');
    this.#succeeded++;
    this.#succeededRows += call.rows;
    this.#queueMs += this.#startMs - call.queuedSinceMs;
  }

  /** Whether it still waits for this batch: neither ended nor gone on to its next step. */
  #has(call: Call): boolean {
    return call.isOpen && call.holder === this;
  }

  #failAll(error: InferError): void {
    for (const call of this.#granted.items) if (this.#has(call)) this.#fail(call, error);
  }

  #fail(call: Call, error: InferError): void {
    this.#leave('failed');
    call.fail(error);
  }

  #reschedule(call: Call, part: Part): void {
    if (call.step?.isIterative !== true) {
      this.#fail(call, new InferError('INVALID_ARGUMENT', rescheduleRefused, { reason: 'BACKEND' }));
      return;
    }
    if (part.outputs.size > 0) call.answer({ ...this.#response(call, part), isLast: false });
    if (!call.isOpen) return;
    this.#succeed(call);
    call.step.reschedule();
  }

  #refuseAnother(call: Call, answers: number): void {
    const error = this.#singleResponseError(answers);
    if (this.#has(call)) this.#fail(call, error);
    else this.#config.log.error(error.message);
  }

  /** The instance has ended under the batch; it may be too far gone to say so itself. */
  #lose(error: unknown): void {
    this.#failAll(error instanceof InferError ? backendError(error) : this.#gone(error));
    this.#ended.complete();
  }

  #gone(cause: unknown): InferError {
    return new InferError('UNAVAILABLE', `an instance of ${this.#model()} ended while it ran the request`, { cause, reason: 'BACKEND' });
  }

  #singleResponseError(answers: number): InferError {
    return new InferError('INTERNAL', `expected a single response, got ${answers} from ${this.#model()}`, { reason: 'BACKEND' });
  }

  #model(): string {
    return `model '${this.#config.spec.name}' version ${this.#config.spec.version}`;
  }

  #report(): void {
    if (this.#succeeded === 0) return;
    const endMs = this.#config.scheduler.now();
    const inputEndMs = this.#times.inputEndMs || this.#startMs;
    const outputStartMs = this.#times.outputStartMs || endMs;
    this.#config.sink({
      kind: 'batch-executed',
      model: this.#config.spec.name,
      version: this.#config.spec.version,
      rows: this.#totalRows,
      succeeded: this.#succeeded,
      succeededRows: this.#succeededRows,
      queueMs: this.#queueMs,
      computeInputMs: Math.max(0, inputEndMs - this.#startMs),
      computeInferMs: Math.max(0, outputStartMs - inputEndMs),
      computeOutputMs: Math.max(0, endMs - outputStartMs),
      endedAtMs: epochMs(),
    });
  }
}

/**
 * Runs one batch on the instance that is lent for it and hands each answer to the caller whose request it answers.
 *
 * emits           nothing: answers go to the callers
 * errors          never: a failure of the instance fails the calls that it was to answer, one of them or all; a model that is not decoupled
 *                 fails a call that it answers twice or not at all
 * completes when  the run has ended, or every caller that still waited has cancelled
 * on unsubscribe  cancels the run and fails with UNAVAILABLE who still waits
 * Whichever way it ends, the instance's run is unsubscribed, one event reports it if any call succeeded, and the lease is released.
 */
export const runBatch = (config: RunBatchConfig): ((granted: Granted<Call, Instance>) => Observable<never>) => {
  const plan: BatchPlan = { ...config, form: formBatch(config.spec) };
  return (granted) =>
    new Observable((subscriber) => {
      const run = new BatchRun(plan, granted, subscriber);
      subscriber.add(() => run.end());
      run.start();
    });
};
