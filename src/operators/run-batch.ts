import type { Observer, Subscriber, Subscription } from 'rxjs';
import { Observable } from 'rxjs';
import type { Granted } from '../streams/flow/buffer-when-free.ts';
import type { Batch, Instance, Part } from '../streams/inference/backend.ts';
import { InferError } from '../streams/inference/error.ts';
import type { Log } from '../streams/inference/log.ts';
import type { ModelSpec } from '../streams/inference/model-spec.ts';
import type { InferResponse } from '../streams/inference/response.ts';
import type { Tensors } from '../streams/tensors/tensor.ts';
import type { Call, Cancellable } from './call.ts';
import { ExecutionReport, type ReportConfig } from './execution-report.ts';
import { type BatchedSpec, type FormedBatch, formBatch } from './form-batch.ts';
import { ResponseReport } from './response-report.ts';
import { backendError, instanceGoneError, rescheduleError, singleResponseError, unknownRequestError } from './run-errors.ts';

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

export interface RunBatchConfig extends ReportConfig {
  readonly spec: Pick<ModelSpec, 'name' | 'version' | 'decoupled'> & BatchedSpec;
  readonly log: Log;
  readonly counters: RunCounters;
}

const noTensors: Tensors = new Map();

type BatchPlan = RunBatchConfig & { readonly form: ReturnType<typeof formBatch> };

class BatchRun implements Observer<Part>, Cancellable {
  readonly #config: BatchPlan;
  readonly #granted: Granted<Call, Instance>;
  readonly #ended: Subscriber<never>;
  readonly #report: ExecutionReport;
  /** Of a decoupled model. */
  readonly #responses: ResponseReport | undefined;
  /** Answers so far to each call. */
  readonly #answers: number[] = [];
  #open = 0;
  /** A request of a sequence is among them: the next one needs what this batch leaves behind. */
  #mustFinish = false;
  #isOver = false;
  #running: Subscription | undefined;
  #cut: FormedBatch['cut'];

  constructor(config: BatchPlan, granted: Granted<Call, Instance>, ended: Subscriber<never>) {
    this.#config = config;
    this.#granted = granted;
    this.#ended = ended;
    this.#report = new ExecutionReport(config);
    this.#responses = config.spec.decoupled ? new ResponseReport(config, granted.items, this.#report) : undefined;
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
      this.error(unknownRequestError(this.#config.spec, part.of, this.#granted.items.length));
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
    if (part.isLast) this.#succeed(call);
    this.#give(call, this.#response(call, shown));
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
        this.#responses?.end(call, 'empty');
        call.complete();
      } else {
        this.#fail(call, singleResponseError(this.#config.spec, answers));
      }
    }
    this.#ended.complete();
  }

  /** A caller has gone. When nobody is left the instance is told. */
  cancel(call: Call): void {
    this.#leave('failed');
    this.#responses?.end(call, 'cancel');
    if (this.#open === 0 && !this.#mustFinish) this.#ended.complete();
  }

  /** However it ended. */
  end(): void {
    this.#isOver = true;
    this.#running?.unsubscribe();
    if (this.#open > 0) this.#failAll(instanceGoneError(this.#config.spec, undefined));
    this.#config.counters.batches--;
    this.#report.send();
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
      this.#report.rows += call.rows;
    }
    const plain = { requests, rows, totalRows: this.#report.rows, wholeInputs: noTensors, times: this.#report.times };
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

  #give(call: Call, response: InferResponse): void {
    if (this.#responses !== undefined) this.#responses.give(call, response);
    else if (response.isLast) call.answerLast(response);
    else call.answer(response);
  }

  #leave(as: 'out' | 'failed'): void {
    this.#open--;
    this.#config.counters.running--;
    this.#config.counters[as]++;
  }

  #succeed(call: Call): void {
    this.#leave('out');
    this.#report.succeeded(call);
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
    this.#responses?.end(call, 'fail');
    call.fail(error);
  }

  #reschedule(call: Call, part: Part): void {
    if (call.step?.isIterative !== true) {
      this.#fail(call, rescheduleError());
      return;
    }
    if (part.outputs.size > 0) this.#give(call, { ...this.#response(call, part), isLast: false });
    if (!call.isOpen) return;
    this.#succeed(call);
    call.step.reschedule();
  }

  #refuseAnother(call: Call, answers: number): void {
    const error = singleResponseError(this.#config.spec, answers);
    if (this.#has(call)) this.#fail(call, error);
    else this.#config.log.error(error.message);
  }

  /** The instance has ended under the batch; it may be too far gone to say so itself. */
  #lose(error: unknown): void {
    this.#failAll(error instanceof InferError ? backendError(error) : instanceGoneError(this.#config.spec, error));
    this.#ended.complete();
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
