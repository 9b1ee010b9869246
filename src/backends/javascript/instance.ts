import { Observable, type Subscriber, type Subscription, type TeardownLogic } from 'rxjs';
import { machineScheduler } from '../../streams/flow/clock.ts';
import type { Batch, Instance, Part } from '../../streams/inference/backend.ts';
import { InferError } from '../../streams/inference/error.ts';
import type { Log } from '../../streams/inference/log.ts';
import type { ModelCalls } from '../../streams/inference/model-calls.ts';
import { NumberRing } from '../workers/number-ring.ts';
import { StoppableWorker } from '../workers/stoppable-worker.ts';
import { WireEnd } from '../workers/wire-end.ts';
import { workerScript } from '../workers/worker-script.ts';
import { CallDesk } from './call-desk.ts';
import { MessageMarks } from './message-marks.ts';
import { MetricDesk } from './metric-desk.ts';
import type { MetricTable } from './metric-table.ts';
import { loadTimeoutText, type ModelSettings, spareSlots } from './model-settings.ts';
import { Runs } from './runs.ts';
import { Watchdog } from './watchdog.ts';
import { type FromWorker, isFromWorker, mostUnread, type ToWorker, type WireError, type WorkerStart } from './worker-protocol.ts';
import { writeLogLine } from './write-log-line.ts';

/** How long a stopped instance waits for what nobody waits for, and for `unload`. */
const graceMs = 5000;

export interface JavascriptInstanceConfig
  extends Omit<WorkerStart, 'concurrency' | 'clockOffsetMs' | 'logMarks' | 'metricMarks' | 'toWorker' | 'fromWorker'> {
  readonly settings: ModelSettings;
  readonly calls: ModelCalls;
  readonly metrics: MetricTable;
  readonly log: Log;
  readonly onReady: () => void;
  /** It cannot start, or it has died: once, before the batches that it had fail. */
  readonly onFailed: (error: InferError) => void;
}

/**
 * A model in a worker thread of its own. Batches lie in slots of shared memory: the main thread copies the requests' tensors into one, posts its
 * number, and gets a number back when answers lie there; parts are views of them, emitted within that one event.
 *
 * Unsubscribing from a run drops its answers and tells the model; its slot is free once the model has ended it. So a batch may find every slot taken
 * by cancelled ones: then it waits for the first to come free. No more wait than `capacity`; beyond that a run fails with UNAVAILABLE.
 *
 * After `stop` new runs fail with UNAVAILABLE; those under way end first, then the model is unloaded, then the thread ends. What nobody waits for,
 * and `unload`, have some seconds for that.
 */
export class JavascriptInstance implements Instance {
  readonly capacity = spareSlots;
  readonly #config: JavascriptInstanceConfig;
  readonly #name: string;
  readonly #runs: Runs;
  readonly #worker: StoppableWorker<ToWorker | null, unknown>;
  readonly #wire: WireEnd<FromWorker, ToWorker>;
  readonly #calls: CallDesk;
  readonly #metrics: MetricDesk;
  readonly #logMarks = new MessageMarks();
  readonly #metricMarks = new MessageMarks();
  readonly #watchdog: Watchdog | undefined;
  #state: 'starting' | 'ready' | 'stopping' | 'dead' = 'starting';
  #isUnloading = false;
  /** Of the load, later of the end. */
  #deadline: Subscription | undefined;

  constructor(config: JavascriptInstanceConfig) {
    const { settings, calls, metrics, log, onReady: _, onFailed: __, ...start } = config;
    this.#config = config;
    this.#name = start.instance.name;
    const slots = settings.concurrency + spareSlots;
    const toWorker = new NumberRing(2 * slots);
    // Each slot's unread answers, that it is released and that it is done.
    const fromWorker = new NumberRing((mostUnread + 2) * slots);
    this.#wire = new WireEnd({
      incoming: fromWorker,
      outgoing: toWorker,
      post: (message, transfer) => this.#worker.post(message, transfer),
      wakes: 'together',
      onNumber: (message) => this.#runs.receive(message),
      onMessage: (message) => this.#receive(message),
    });
    const post = (message: ToWorker, transfer?: readonly ArrayBuffer[]): void => this.#wire.send(message, transfer);
    this.#calls = new CallDesk({ modelName: start.modelName, calls, post });
    this.#metrics = new MetricDesk({ table: metrics, post, onRefused: (reason) => log.warning(`${this.#name}: ${reason}`) });
    this.#runs = new Runs({
      ports: start.ports,
      slots,
      post,
      postNumber: (message) => this.#wire.sendNumber(message),
      onBegun: () => {
        this.#worker.enter();
        this.#watchdog?.watch();
      },
      onCancelled: (slot, of) => {
        this.#calls.cancelOf(slot, of);
        if (this.#state === 'stopping') this.#unloadWhenIdle();
      },
      onEnded: () => {
        // A stopped thread that this was the last batch of has `unload` before it.
        if (this.#state === 'stopping') this.#unloadWhenIdle();
        this.#worker.leave();
      },
    });
    const { executionTimeoutMs, loadTimeoutMs, concurrency, limits } = settings;
    if (executionTimeoutMs > 0) this.#watchdog = this.#watch(executionTimeoutMs);
    const data: WorkerStart = {
      ...start,
      concurrency,
      clockOffsetMs: executionTimeoutMs > 0 ? Number(process.hrtime.bigint()) / 1e6 - machineScheduler.now() : undefined,
      logMarks: this.#logMarks.shared,
      metricMarks: this.#metricMarks.shared,
      toWorker: toWorker.shared,
      fromWorker: fromWorker.shared,
    };
    this.#worker = new StoppableWorker({
      script: workerScript('worker', import.meta.url),
      name: this.#name,
      data,
      ...(limits === undefined ? {} : { limits }),
      onMessage: (message) => {
        // A thread that is ended by force may still say something.
        if (this.#state !== 'dead' && (message === null || isFromWorker(message))) this.#wire.receive(message);
      },
      onDeath: (reason) => this.#die(reason),
    });
    this.#worker.enter();
    if (loadTimeoutMs > 0) {
      this.#deadline = machineScheduler.schedule(() => this.#kill(loadTimeoutText(loadTimeoutMs)), loadTimeoutMs);
    }
  }

  run(batch: Batch): Observable<Part> {
    return new Observable((subscriber) => this.#begin(batch, subscriber));
  }

  stop(): void {
    if (this.#state === 'dead') this.#worker.stop();
    if (this.#state === 'dead' || this.#state === 'stopping') return;
    const wasStarting = this.#state === 'starting';
    this.#state = 'stopping';
    // A load is not broken off at once: it may be inside native code, and such an end takes the process with it.
    if (wasStarting) this.#endSoon();
    else this.#unloadWhenIdle();
    this.#worker.stop();
  }

  #begin(batch: Batch, subscriber: Subscriber<Part>): TeardownLogic {
    if (this.#state !== 'ready' || this.#runs.waiting >= this.capacity) {
      const why = this.#state === 'ready' ? 'has no room for another batch' : 'is not running';
      subscriber.error(new InferError('UNAVAILABLE', `model instance '${this.#name}' ${why}`, { reason: 'BACKEND' }));
      return undefined;
    }
    return this.#runs.begin(batch, subscriber);
  }

  #receive(message: FromWorker): void {
    switch (message.kind) {
      case 'ready':
        this.#begun();
        return;
      case 'not-loaded':
        this.#refuse(message.error);
        return;
      case 'outputs':
        this.#runs.use(message.slot, message.area, message.memory);
        return;
      case 'failed':
        this.#fail(message);
        return;
      case 'log':
        this.#logMarks.read();
        writeLogLine(this.#config.log, this.#name, message);
        return;
      case 'call':
        this.#calls.make(message, this.#runs.requestsIn(message.slot));
        return;
      case 'call-cancelled':
        this.#calls.cancel(message.call);
        return;
      case 'call-read':
        this.#calls.read(message.call, message.count, message.bytes);
        return;
      case 'ask-ready':
        this.#wire.send({
          kind: 'reply',
          question: message.question,
          value: this.#config.calls.isReady(message.model, message.version),
          error: undefined,
        });
        return;
      case 'make-metric':
        this.#metrics.make(message);
        return;
      case 'ask-metric':
        this.#metrics.ask(message);
        return;
      case 'metric-updates':
        this.#metrics.update(message.updates);
        this.#metricMarks.read();
        return;
      case 'unloaded':
        this.#close();
        this.#worker.leave();
    }
  }

  #begun(): void {
    if (this.#state === 'starting') {
      this.#state = 'ready';
      this.#deadline?.unsubscribe();
      this.#worker.leave();
      this.#config.onReady();
      return;
    }
    // Stopped while it was loading.
    this.#unloadWhenIdle();
    this.#worker.leave();
  }

  #fail({ slot, error, detail }: Extract<FromWorker, { readonly kind: 'failed' }>): void {
    if (detail !== '') this.#config.log.error(`${this.#name}: ${detail}`);
    this.#runs.fail(slot, new InferError(error.code, error.message, { reason: 'BACKEND' }));
  }

  /** Once nothing is under way, or nothing that somebody waits for. */
  #unloadWhenIdle(): void {
    if (this.#runs.isWanted) return;
    this.#endSoon();
    if (this.#runs.busy.length > 0 || this.#isUnloading) return;
    this.#isUnloading = true;
    this.#worker.enter();
    this.#wire.send({ kind: 'unload' });
  }

  #endSoon(): void {
    if (this.#isUnloading || this.#state === 'dead') return;
    this.#deadline?.unsubscribe();
    this.#deadline = machineScheduler.schedule(() => {
      this.#config.log.warning(`${this.#name}: ended by force, since it did not end by itself within ${graceMs} ms`);
      this.#close();
      this.#worker.kill();
    }, graceMs);
  }

  #watch(limitMs: number): Watchdog {
    return new Watchdog({
      limitMs,
      busy: () => this.#runs.working,
      onTimeout: () => this.#kill(`an execution took longer than execution_timeout_ms (${limitMs})`),
    });
  }

  #kill(reason: string): void {
    this.#worker.kill();
    this.#die(new Error(reason));
  }

  #refuse({ code, message }: WireError): void {
    this.#worker.leave();
    this.#close();
    this.#config.onFailed(new InferError(code, `unable to start model instance '${this.#name}': ${message}`));
  }

  #close(): void {
    this.#state = 'dead';
    this.#deadline?.unsubscribe();
    this.#watchdog?.close();
    this.#calls.close();
    this.#metrics.close();
  }

  #die(reason: Error): void {
    const what = this.#state === 'starting' ? 'unable to start model instance' : 'death of model instance';
    const wasStopping = this.#state === 'stopping';
    this.#close();
    const error = new InferError('INTERNAL', `${what} '${this.#name}': ${reason.message}`, { cause: reason, reason: 'BACKEND' });
    const lost = this.#runs.lose();
    if (!wasStopping) this.#config.onFailed(error);
    for (const { subscriber } of lost) subscriber.error(error);
  }
}
