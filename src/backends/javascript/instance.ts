import { Observable, type Subscriber, type Subscription, type TeardownLogic } from 'rxjs';
import { machineScheduler } from '../../streams/flow/clock.ts';
import type { Batch, Instance, Part } from '../../streams/inference/backend.ts';
import { InferError, toInferError } from '../../streams/inference/error.ts';
import type { Log } from '../../streams/inference/log.ts';
import type { ModelCalls } from '../../streams/inference/model-calls.ts';
import { StoppableWorker } from '../workers/stoppable-worker.ts';
import { workerScript } from '../workers/worker-script.ts';
import { answerFields, areas, firstAnswer } from './batch-layout.ts';
import { CallDesk } from './call-desk.ts';
import { LogMarks } from './log-lines.ts';
import { MetricDesk } from './metric-desk.ts';
import type { MetricTable } from './metric-table.ts';
import { type ModelSettings, spareSlots } from './model-settings.ts';
import { readAnswer } from './read-answer.ts';
import { type Run, Slot } from './slot.ts';
import { Watchdog } from './watchdog.ts';
import {
  answerMessages,
  type FromWorker,
  highestSlots,
  slotMessage,
  slotMessages,
  type ToWorker,
  type WireError,
  type WorkerStart,
} from './worker-protocol.ts';
import { writeLogLine } from './write-log-line.ts';

/** How long a stopped instance waits for what nobody waits for, and for `unload`. */
const graceMs = 5000;

export interface JavascriptInstanceConfig extends Omit<WorkerStart, 'concurrency' | 'clockOffsetMs' | 'logMarks'> {
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
  readonly #slots: Slot[] = [];
  readonly #free: Slot[] = [];
  /** No more than `capacity`. */
  readonly #waiting: Run[] = [];
  readonly #worker: StoppableWorker<ToWorker, FromWorker>;
  readonly #calls: CallDesk;
  readonly #metrics: MetricDesk;
  readonly #logMarks = new LogMarks();
  readonly #watchdog: Watchdog | undefined;
  #state: 'starting' | 'ready' | 'stopping' | 'dead' = 'starting';
  #isUnloading = false;
  /** Of the load, later of the end. */
  #deadline: Subscription | undefined;

  constructor(config: JavascriptInstanceConfig) {
    const { settings, calls, metrics, log, onReady: _, onFailed: __, ...start } = config;
    this.#config = config;
    this.#name = start.instance.name;
    const post = (message: ToWorker, transfer?: readonly ArrayBuffer[]): void => this.#worker.post(message, transfer);
    this.#calls = new CallDesk({ modelName: start.modelName, calls, post });
    this.#metrics = new MetricDesk({ table: metrics, post, onRefused: (reason) => log.warning(`${this.#name}: ${reason}`) });
    const { executionTimeoutMs, loadTimeoutMs, concurrency, limits } = settings;
    if (executionTimeoutMs > 0) this.#watchdog = this.#watch(executionTimeoutMs);
    const data: WorkerStart = {
      ...start,
      concurrency,
      clockOffsetMs: executionTimeoutMs > 0 ? Number(process.hrtime.bigint()) / 1e6 - machineScheduler.now() : undefined,
      logMarks: this.#logMarks.shared,
    };
    this.#worker = new StoppableWorker({
      script: workerScript('worker', import.meta.url),
      name: this.#name,
      data,
      ...(limits === undefined ? {} : { limits }),
      onMessage: (message) => this.#receive(message),
      onDeath: (reason) => this.#die(reason),
    });
    this.#worker.enter();
    if (loadTimeoutMs > 0) {
      const text = `loading took longer than load_timeout_ms (${loadTimeoutMs})`;
      this.#deadline = machineScheduler.schedule(() => this.#kill(text), loadTimeoutMs);
    }
  }

  run(batch: Batch): Observable<Part> {
    return new Observable((subscriber) => this.#begin(batch, subscriber));
  }

  stop(): void {
    if (this.#state === 'dead' || this.#state === 'stopping') return;
    const wasStarting = this.#state === 'starting';
    this.#state = 'stopping';
    // A load is not broken off at once: it may be inside native code, and such an end takes the process with it.
    if (wasStarting) this.#endSoon();
    else this.#unloadWhenIdle();
    this.#worker.stop();
  }

  #begin(batch: Batch, subscriber: Subscriber<Part>): TeardownLogic {
    if (this.#state !== 'ready' || this.#waiting.length >= this.capacity) {
      const why = this.#state === 'ready' ? 'has no room for another batch' : 'is not running';
      subscriber.error(new InferError('UNAVAILABLE', `model instance '${this.#name}' ${why}`, { reason: 'BACKEND' }));
      return undefined;
    }
    const run: Run = { batch, subscriber };
    this.#waiting.push(run);
    this.#startWaiting();
    return () => this.#cancel(run);
  }

  #startWaiting(): void {
    while (this.#waiting.length > 0) {
      const slot = this.#takeSlot();
      const run = slot === undefined ? undefined : this.#waiting.shift();
      if (slot === undefined || run === undefined) return;
      this.#start(run, slot);
    }
  }

  #takeSlot(): Slot | undefined {
    const free = this.#free.pop();
    if (free !== undefined || this.#slots.length >= this.#config.settings.concurrency + spareSlots) return free;
    const slot = new Slot(this.#slots.length, this.#config.ports);
    this.#slots.push(slot);
    slot.memories[areas.inputs] = slot.inputs.buffer;
    this.#worker.post({ kind: 'slot', slot: slot.index, state: slot.state.shared, inputs: slot.inputs.shared });
    return slot;
  }

  #start(run: Run, slot: Slot): void {
    const { batch, subscriber } = run;
    try {
      if (slot.inputs.write(batch)) {
        slot.memories[areas.inputs] = slot.inputs.buffer;
        this.#worker.post({ kind: 'slot', slot: slot.index, state: undefined, inputs: slot.inputs.shared });
      }
    } catch (error) {
      this.#free.push(slot);
      subscriber.error(toInferError(error, 'BACKEND'));
      return;
    }
    slot.run = run;
    slot.state.reset();
    batch.onCancelled = (of) => this.#cancelOne(run, slot, of);
    this.#worker.enter();
    this.#worker.post(slotMessage(slot.index, slotMessages.begin));
    this.#watchdog?.watch();
  }

  #cancelOne(run: Run, slot: Slot, of: number): void {
    if (slot.run !== run) return;
    slot.inputs.mark(of);
    this.#calls.cancelOf(slot.index, of);
    this.#worker.post({ kind: 'cancelled', slot: slot.index, of });
  }

  #cancel(run: Run): void {
    const position = this.#waiting.indexOf(run);
    if (position >= 0) this.#waiting.splice(position, 1);
    const slot = this.#slots.find((each) => each.run === run);
    // After its own end a run is unsubscribed too.
    if (slot === undefined) return;
    slot.state.isAbandoned = true;
    for (const of of run.batch.requests.keys()) slot.inputs.mark(of);
    this.#calls.cancelOf(slot.index, -1);
    this.#worker.post({ kind: 'cancelled', slot: slot.index, of: -1 });
    if (this.#state === 'stopping') this.#unloadWhenIdle();
  }

  #receive(message: FromWorker): void {
    if (typeof message === 'number') {
      const place = Math.floor(message / 4);
      const slot = this.#slots[place % highestSlots];
      if (slot !== undefined) this.#answer(slot, message % 4, Math.floor(place / highestSlots));
      return;
    }
    switch (message.kind) {
      case 'ready':
        this.#deadline?.unsubscribe();
        this.#worker.leave();
        if (this.#state !== 'starting') return;
        this.#state = 'ready';
        this.#config.onReady();
        return;
      case 'not-loaded':
        this.#refuse(message.error);
        return;
      case 'outputs':
        this.#slots[message.slot]?.use(message.area, message.memory);
        return;
      case 'failed':
        this.#fail(this.#slots[message.slot], message.error, message.detail);
        return;
      case 'log':
        this.#logMarks.written();
        writeLogLine(this.#config.log, this.#name, message);
        return;
      case 'call':
        this.#calls.make(message, this.#slots[message.slot]?.run?.batch.requests);
        return;
      case 'call-cancelled':
        this.#calls.cancel(message.call);
        return;
      case 'call-read':
        this.#calls.read(message.call, message.count);
        return;
      case 'ask-ready':
        this.#worker.post({
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
        return;
      case 'unloaded':
        this.#close();
        this.#worker.leave();
    }
  }

  #answer(slot: Slot, kind: number, position: number): void {
    if (kind === answerMessages.done) this.#finish(slot);
    else if (kind === answerMessages.answer) this.#emitOne(slot, position);
    else slot.run?.batch.releaseInstance?.();
  }

  /** One of many answers. The memory that it lies in is the worker's again after it. */
  #emitOne(slot: Slot, position: number): void {
    const { run, state } = slot;
    if (run !== undefined && !run.subscriber.closed) {
      if (run.batch.times.inputEndMs === 0) run.batch.times.inputEndMs = machineScheduler.now();
      run.subscriber.next(readAnswer(slot.words, position, slot.memories, this.#config.ports.outputs));
    }
    state.addRead();
    const { awaited } = state;
    if (awaited === 0 || state.read < awaited) return;
    state.awaited = 0;
    this.#worker.post(slotMessage(slot.index, slotMessages.read));
  }

  /** Emits while the slot is still taken, since the worker overwrites a free one; completes after, since that may bring the next batch. */
  #finish(slot: Slot): void {
    const { run, words, state, memories } = slot;
    if (run === undefined) return;
    const { batch, subscriber } = run;
    if (!subscriber.closed) {
      batch.times.outputStartMs = machineScheduler.now();
      batch.times.inputEndMs = batch.times.outputStartMs - state.runMs;
      let at = firstAnswer;
      for (let left = words[0] ?? 0; left > 0 && !subscriber.closed; left--) {
        subscriber.next(readAnswer(words, at, memories, this.#config.ports.outputs));
        at += words[at + answerFields.length] ?? 0;
      }
    }
    this.#freeSlot(slot);
    subscriber.complete();
  }

  #fail(slot: Slot | undefined, { code, message }: WireError, detail: string): void {
    const run = slot?.run;
    if (slot === undefined || run === undefined) return;
    if (detail !== '') this.#config.log.error(`${this.#name}: ${detail}`);
    this.#freeSlot(slot);
    run.subscriber.error(new InferError(code, message, { reason: 'BACKEND' }));
  }

  #freeSlot(slot: Slot): void {
    if (slot.run !== undefined) slot.run.batch.onCancelled = undefined;
    this.#calls.cancelOf(slot.index, -1);
    slot.run = undefined;
    this.#free.push(slot);
    this.#startWaiting();
    // A stopped thread that this was the last batch of has `unload` before it.
    if (this.#state === 'stopping') this.#unloadWhenIdle();
    this.#worker.leave();
  }

  /** Once nothing is under way, or nothing that somebody waits for. */
  #unloadWhenIdle(): void {
    const busy = this.#slots.filter(({ run }) => run !== undefined);
    if (busy.some(({ state }) => !state.isAbandoned) || this.#waiting.length > 0) return;
    this.#endSoon();
    if (busy.length > 0 || this.#isUnloading) return;
    this.#isUnloading = true;
    this.#worker.enter();
    this.#worker.post({ kind: 'unload' });
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
      busy: () => this.#slots.flatMap(({ run, state }) => (run === undefined ? [] : state)),
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
    const lost = [...this.#slots.flatMap(({ run }) => run ?? []), ...this.#waiting.splice(0)];
    for (const slot of this.#slots) slot.run = undefined;
    if (!wasStopping) this.#config.onFailed(error);
    for (const { subscriber } of lost) subscriber.error(error);
  }
}
