import type { Observer, Subscriber, Subscription } from 'rxjs';
import { Observable } from 'rxjs';
import type { Granted } from '../../streams/flow/buffer-when-free.ts';
import type { Batch, Instance, Part } from '../../streams/inference/backend.ts';
import { InferError } from '../../streams/inference/error.ts';
import type { Log } from '../../streams/inference/log.ts';
import type { ModelSpec } from '../../streams/inference/model-spec.ts';
import type { InferResponse } from '../../streams/inference/response.ts';
import type { Tensors } from '../../streams/tensors/tensor.ts';
import type { Call, Cancellable } from '../call.ts';
import { isBareEnd } from './bare-end.ts';
import { BatchHold, type BatchHoldConfig } from './batch-hold.ts';
import { ExecutionReport, type ReportConfig } from './execution-report.ts';
import { type BatchedSpec, type FormedBatch, formBatch } from './form-batch.ts';
import { ReleasedBatches } from './released-batches.ts';
import { ResponseReport } from './response-report.ts';
import { backendError, instanceGoneError, rescheduleError, singleResponseError, unknownRequestError } from './run-errors.ts';

/** Calls, except where it says batches; `in = out + failed + running` at every moment. */
export interface RunCounters {
  in: number;
  out: number;
  failed: number;
  running: number;
  /** Batches that have an instance now. */
  batches: number;
  /** Batches that go on though their instance may take another one. */
  released: number;
}

export const noRunCounters = (): RunCounters => ({ in: 0, out: 0, failed: 0, running: 0, batches: 0, released: 0 });

/** Batches of one model that may go on without their instances. */
export const releasedLimit = 4096;

export interface RunBatchConfig extends ReportConfig {
  readonly spec: Pick<ModelSpec, 'name' | 'version' | 'decoupled'> & BatchedSpec;
  readonly log: Log;
  readonly counters: RunCounters;
}

const noTensors: Tensors = new Map();

type BatchPlan = RunBatchConfig & BatchHoldConfig & { readonly form: ReturnType<typeof formBatch> };

class BatchRun implements Observer<Part>, Cancellable {
  readonly #config: BatchPlan;
  readonly #granted: Granted<Call, Instance>;
  readonly #ended: Subscriber<never>;
  readonly #hold: BatchHold;
  readonly #report: ExecutionReport;
  /** Of a decoupled model. */
  readonly #responses: ResponseReport | undefined;
  /** Answers so far to each call. */
  readonly #answers: number[] = [];
  #open = 0;
  #isOver = false;
  #batch: Batch | undefined;
  #running: Subscription | undefined;
  #cut: FormedBatch['cut'];

  constructor(config: BatchPlan, granted: Granted<Call, Instance>, ended: Subscriber<never>) {
    this.#config = config;
    this.#granted = granted;
    this.#ended = ended;
    this.#hold = new BatchHold(config, granted);
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
    // By way of a variable: see `Garbage` in docs/architecture.md.
    const onEnded = (error: unknown): void => this.#lose(error);
    lease.onEnded = onEnded;
    let parts$: Observable<Part>;
    try {
      this.#batch = this.#form();
      parts$ = lease.resource.run(this.#batch);
    } catch (error) {
      this.error(error);
      return;
    }
    this.#running = parts$.subscribe(this);
    // It may be over already: by an answer or a cancellation within `subscribe`.
    if (this.#isOver) this.#running.unsubscribe();
  }

  next(part: Part): void {
    const { of } = part;
    const { spec } = this.#config;
    const call = this.#granted.items[of];
    if (call === undefined) {
      this.error(unknownRequestError(spec, of, this.#granted.items.length));
      return;
    }
    const answers = (this.#answers[of] ?? 0) + 1;
    if (answers > 1 && !spec.decoupled) {
      if (isBareEnd(part)) this.#finish(call);
      else this.#refuseAnother(call, part, answers);
      return;
    }
    this.#answers[of] = answers;
    const cut = this.#cut === undefined ? part : this.#cut(part);
    const shown = call.step === undefined ? cut : call.step.take(cut);
    if (!this.#has(call)) return;
    if (shown.error !== undefined) this.#takeError(call, part, backendError(shown.error));
    else if (shown.isRescheduled) this.#reschedule(call, shown);
    else if (spec.decoupled && isBareEnd(shown)) this.#finish(call);
    else {
      if (part.isLast) this.#succeed(call);
      this.#give(call, this.#response(call, shown));
    }
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
      if (this.#config.spec.decoupled || answers === 1) this.#finish(call);
      else this.#fail(call, singleResponseError(this.#config.spec, answers));
    }
    this.#ended.complete();
  }

  /** A caller has gone. */
  cancel(call: Call): void {
    this.#leave('failed');
    this.#responses?.end(call, 'cancel');
    this.#stop(call);
  }

  /** However it ended. */
  end(): void {
    this.#isOver = true;
    this.#running?.unsubscribe();
    if (this.#open > 0) this.#failAll(instanceGoneError(this.#config.spec, undefined));
    this.#report.send();
    this.#hold.end();
  }

  #form(): Batch {
    const { items } = this.#granted;
    const requests = [];
    const rows = [];
    for (const call of items) {
      call.holder = this;
      requests.push(call.step === undefined ? call.request : call.step.request());
      rows.push(call.rows);
      this.#report.rows += call.rows;
    }
    const plain: Batch = {
      requests,
      rows,
      totalRows: this.#report.rows,
      wholeInputs: noTensors,
      times: this.#report.times,
      onCancelled: undefined,
      releaseInstance: () => this.#hold.askToRelease(),
    };
    const formed = this.#config.form?.(plain);
    this.#cut = formed?.cut;
    return formed?.batch ?? plain;
  }

  /** Nobody waits for this call's answers any more. The instance hears by the end of the run when that is true of all of them. */
  #stop(call: Call): void {
    if (this.#open === 0 && !this.#hold.mustFinish) this.#ended.complete();
    else this.#batch?.onCancelled?.(this.#granted.items.indexOf(call));
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

  /** It has had its answers, and the last of them did not say so. */
  #finish(call: Call): void {
    if (!this.#has(call)) return;
    this.#succeed(call);
    this.#responses?.end(call, 'empty');
    call.complete();
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

  /** One that the model gives while others may follow goes in its place; any other is the end of its call. */
  #takeError(call: Call, part: Part, error: InferError): void {
    const isItsOwn = part.error !== undefined;
    if (isItsOwn && !part.isLast && this.#config.spec.decoupled) {
      this.#give(call, { ...this.#response(call, part), outputs: noTensors, error });
      return;
    }
    this.#fail(call, error);
    if (!part.isLast) this.#stop(call);
  }

  #refuseAnother(call: Call, { isLast }: Part, answers: number): void {
    const error = singleResponseError(this.#config.spec, answers);
    if (this.#has(call)) {
      this.#fail(call, error);
      if (!isLast) this.#stop(call);
    } else this.#config.log.error(error.message);
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
  const plan: BatchPlan = { ...config, form: formBatch(config.spec), releases: new ReleasedBatches(releasedLimit) };
  return (granted) =>
    new Observable((subscriber) => {
      const run = new BatchRun(plan, granted, subscriber);
      subscriber.add(() => run.end());
      run.start();
    });
};
