import { Observable, type Subscriber, type TeardownLogic } from 'rxjs';
import { machineScheduler } from '../../streams/flow/clock.ts';
import type { Batch, Instance, Part } from '../../streams/inference/backend.ts';
import { InferError, toInferError } from '../../streams/inference/error.ts';
import { noParameters } from '../../streams/inference/parameters.ts';
import type { Caller } from '../../streams/inference/request.ts';
import type { Tensors } from '../../streams/tensors/tensor.ts';
import { AnswerBlock } from './answer-block.ts';
import { callerFrom } from './caller-from.ts';
import { type Frame, frameFlags, fromProcess, toProcess } from './frames.ts';
import { OpenRun } from './open-run.ts';
import type { ProcessMemory } from './process-memory.ts';
import { AnswerReader } from './read-answers.ts';
import { BatchWriter } from './write-batch.ts';

export interface PythonInstanceConfig {
  /** For messages: `M_0_1`. */
  readonly name: string;
  readonly modelName: string;
  readonly isDecoupled: boolean;
  /** Batches that the process has at once and has not executed. */
  readonly capacity: number;
  /** Names of all inputs that batches may have. */
  readonly inputs: readonly string[];
  readonly memory: ProcessMemory;
  /** The callers of that batch have all gone. */
  readonly onAbandoned: (batch: number) => void;
  /** What `is_ready` of the model said last. */
  readonly isReady: () => boolean;
}

const noOutputs: Tensors = new Map();

/**
 * A model in a process of its own. Batches lie in shared memory, where the process reads them, and so do its answers; parts are views of these, emitted
 * within the event that tells of them.
 *
 * The process executes one batch after the other and is given no more than `capacity` that it has not executed; others wait here, at most as many as
 * there are leases. A decoupled model's batches stay open past their execution until each request has had its last answer; there is no bound but the
 * instance's callers. An answer for which its caller has no room waits in the process's memory, and the process waits for that.
 *
 * Unsubscribing from a run drops its answers. A batch that waits here is forgotten; one that the process has is marked as cancelled, which
 * the model may see, and is skipped if its execution has not begun.
 */
export class PythonInstance implements Instance {
  readonly capacity: number;
  readonly #config: PythonInstanceConfig;
  readonly #writer: BatchWriter;
  /** What the process has, by id; 0 is no id. */
  readonly #runs: (OpenRun | undefined)[] = [undefined];
  readonly #freeIds: number[] = [];
  readonly #waiting: OpenRun[] = [];
  readonly #onEmpty = (run: OpenRun): void => this.#endIfDone(run);
  /** Given to the process and not executed. */
  #given = 0;
  #state: 'running' | 'stopping' | 'dead' = 'running';

  constructor(config: PythonInstanceConfig) {
    this.#config = config;
    this.capacity = config.capacity;
    this.#writer = new BatchWriter(config.memory.arena, config.inputs);
  }

  run(batch: Batch): Observable<Part> {
    return new Observable((subscriber) => this.#begin(batch, subscriber));
  }

  isReady(): boolean {
    return this.#state === 'running' && this.#config.isReady();
  }

  /** The process has nothing to do. */
  get isIdle(): boolean {
    return this.#given === 0 && this.#waiting.length === 0;
  }

  /** New runs fail from now on. */
  stop(): void {
    if (this.#state === 'running') this.#state = 'stopping';
  }

  /** The process is gone: every run fails. */
  die(error: InferError): void {
    this.#state = 'dead';
    const lost = [...this.#waiting.splice(0), ...this.#runs.splice(1).flatMap((run) => run ?? [])];
    for (const run of lost) {
      run.forget();
      run.subscriber.error(error);
    }
  }

  /** A message about a batch. False for any other. */
  take(frame: Frame, payload: Buffer): boolean {
    switch (frame.kind) {
      case fromProcess.answers:
        this.#answer(frame);
        return true;
      case fromProcess.executed:
        this.#executed(frame, payload);
        return true;
      case fromProcess.abandoned:
        this.#abandoned(frame.id, payload);
        return true;
      default:
        return false;
    }
  }

  callerFrom(batch: number, model: string): Caller {
    const runs = this.#runs.filter((run) => run !== undefined);
    return callerFrom(this.#config.modelName, this.#runs[batch]?.batch.requests, runs, model);
  }

  #begin(batch: Batch, subscriber: Subscriber<Part>): TeardownLogic {
    if (this.#state !== 'running') {
      subscriber.error(new InferError('UNAVAILABLE', `model instance '${this.#config.name}' is not running`, { reason: 'BACKEND' }));
      return undefined;
    }
    const run = new OpenRun(batch, subscriber, this.#onEmpty);
    const onCancelled = (of: number): void => this.#cancelOne(run, of);
    batch.onCancelled = onCancelled;
    this.#waiting.push(run);
    this.#giveWaiting();
    return () => this.#leave(run);
  }

  #giveWaiting(): void {
    while (this.#given < this.capacity && this.#state !== 'dead') {
      const run = this.#waiting.shift();
      if (run === undefined) return;
      this.#give(run);
    }
  }

  #give(run: OpenRun): void {
    const { memory } = this.#config;
    try {
      const written = this.#writer.write(run.batch);
      const id = this.#freeIds.pop() ?? this.#runs.length;
      run.begin(id, written);
      this.#runs[id] = run;
      this.#given++;
      run.batch.times.inputEndMs = machineScheduler.now();
      memory.lend(toProcess.batch, id, written.block, written.length);
    } catch (error) {
      run.subscriber.error(toInferError(error, 'BACKEND'));
    }
  }

  #cancelOne(run: OpenRun, of: number): void {
    if (run.batch.requests.length === 1 && run.id !== 0) this.#config.onAbandoned(run.id);
    run.letGo(of);
  }

  /** Whoever subscribed has gone, or has had everything. */
  #leave(run: OpenRun): void {
    if (run.id === 0) {
      const position = this.#waiting.indexOf(run);
      if (position >= 0) this.#waiting.splice(position, 1);
      return;
    }
    if (this.#runs[run.id] !== run) return;
    this.#config.onAbandoned(run.id);
    run.letGoAll();
  }

  /** Emits while the block is still lent, and frees it before it completes, since that may bring the next batch. */
  #answer(frame: Frame): void {
    const { memory, isDecoupled } = this.#config;
    const run = this.#runs[frame.id];
    if (run === undefined) {
      memory.hasRead(frame.block, frame.length);
      return;
    }
    const answers = new AnswerReader(memory.theirs(frame), frame.offset, memory.own);
    if (isDecoupled) {
      const block = new AnswerBlock(memory, frame);
      while (!answers.isEmpty) this.#offer(run, answers.next(), block);
      block.letGo();
    } else {
      const { times } = run.batch;
      times.outputStartMs = machineScheduler.now();
      times.inputEndMs = Math.max(times.inputEndMs, times.outputStartMs - answers.runMs);
      while (!answers.isEmpty) this.#offer(run, answers.next(), undefined);
      memory.hasRead(frame.block, frame.length);
    }
    if ((frame.flags & frameFlags.isExecuted) !== 0) this.#markExecuted(run);
    this.#endIfDone(run);
  }

  /** Emits it; of a decoupled model once there is room for it. */
  #offer(run: OpenRun, part: Part, block: AnswerBlock | undefined): void {
    if (!run.awaits(part.of)) return;
    if (part.isLast) run.endAwaiting(part.of);
    const held = this.#config.isDecoupled ? run.holds(part.of) : undefined;
    if (held === undefined) run.emit(part);
    else held.add(part, block);
  }

  #executed({ id, flags }: Frame, payload: Buffer): void {
    const run = this.#runs[id];
    if (run === undefined) return;
    this.#markExecuted(run);
    if ((flags & frameFlags.hasFailed) !== 0) this.#failOpen(run, payload.toString());
    this.#endIfDone(run);
    if (!run.hasEnded && !run.subscriber.closed) run.batch.releaseInstance?.();
  }

  #markExecuted(run: OpenRun): void {
    if (run.isExecuted) return;
    run.isExecuted = true;
    this.#given--;
  }

  #failOpen(run: OpenRun, message: string): void {
    const error = new InferError('INTERNAL', message, { reason: 'BACKEND' });
    for (let of = 0; of < run.batch.requests.length; of++) this.#endOne(run, of, error);
  }

  #endOne(run: OpenRun, of: number, error: InferError | undefined): void {
    this.#offer(run, { of, outputs: noOutputs, parameters: noParameters, isLast: true, error }, undefined);
  }

  #abandoned(id: number, payload: Buffer): void {
    const run = this.#runs[id];
    if (run === undefined) return;
    const { of, message }: { readonly of: number; readonly message: string | null } = JSON.parse(payload.toString());
    this.#endOne(run, of, message === null ? undefined : new InferError('INTERNAL', message, { reason: 'BACKEND' }));
    this.#endIfDone(run);
  }

  #endIfDone(run: OpenRun): void {
    if (this.#runs[run.id] !== run) return;
    const isDone = run.hasEnded;
    if (isDone) {
      this.#runs[run.id] = undefined;
      this.#freeIds.push(run.id);
    }
    this.#giveWaiting();
    if (isDone) run.subscriber.complete();
  }
}
