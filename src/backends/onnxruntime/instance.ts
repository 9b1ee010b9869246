import { Observable, type Subscriber, type TeardownLogic } from 'rxjs';
import { machineScheduler } from '../../streams/flow/clock.ts';
import type { Batch, Instance, Part } from '../../streams/inference/backend.ts';
import { InferError, toInferError } from '../../streams/inference/error.ts';
import { noParameters } from '../../streams/inference/parameters.ts';
import type { Tensors } from '../../streams/tensors/tensor.ts';
import { GrowingMemory } from '../workers/growing-memory.ts';
import { StoppableWorker } from '../workers/stoppable-worker.ts';
import { workerScript } from '../workers/worker-script.ts';
import { type AdmittedBatch, admitBatch, wholeBatch } from './admit-batch.ts';
import { readOutputs } from './read-outputs.ts';
import { SlotMemory } from './slot-memory.ts';
import type { FromWorker, ModelPorts, ToWorker, WorkerStart } from './worker-protocol.ts';
import { writeInputs } from './write-inputs.ts';

/** Batches that a worker has at once: while it runs one, the next lies ready. */
const slotCount = 2;

/** A batch under way. */
interface Run {
  readonly batch: Batch;
  readonly subscriber: Subscriber<Part>;
  readonly admitted: AdmittedBatch;
}

interface Slot {
  readonly index: number;
  readonly memory: SlotMemory;
  readonly inputs: GrowingMemory;
  /** The worker's output memories, by area. */
  readonly outputs: Uint8Array[];
  /** Undefined while the slot is free; a run that was cancelled stays until the worker gives the slot back. */
  run: Run | undefined;
}

export interface OnnxInstanceConfig extends Omit<WorkerStart, 'slots'> {
  /** For messages: `M_0_1`. */
  readonly name: string;
  readonly onReady: () => void;
  /** It cannot start, or it has died: once, before the batches that it had fail. */
  readonly onFailed: (error: InferError) => void;
}

/**
 * A session in a worker thread of its own. Batches lie in slots of shared memory: the main thread copies the requests' tensors into one,
 * posts its number, and gets the number back when the outputs lie there; parts are views of them, emitted within that one event.
 *
 * Unsubscribing from a run drops its answer. A batch that the worker has not begun is left; one that it has cannot be interrupted, and keeps
 * its slot until it ends. So a batch may find every slot taken by cancelled ones: then it waits for the first to come free. No more wait
 * than there are slots; beyond that a run fails with UNAVAILABLE.
 *
 * After `stop` new runs fail with UNAVAILABLE; those under way end first, and then the thread.
 */
export class OnnxInstance implements Instance {
  readonly capacity = slotCount;
  readonly #name: string;
  readonly #ports: ModelPorts;
  readonly #checksRequests: boolean;
  readonly #onReady: () => void;
  readonly #onFailed: (error: InferError) => void;
  readonly #slots: readonly Slot[];
  /** No more than there are slots. */
  readonly #waiting: Run[] = [];
  readonly #worker: StoppableWorker<ToWorker, FromWorker>;
  #state: 'starting' | 'ready' | 'stopping' | 'dead' = 'starting';

  constructor({ name, onReady, onFailed, ...start }: OnnxInstanceConfig) {
    this.#name = name;
    this.#ports = start.ports;
    this.#checksRequests = !start.ports.batches || start.ports.inputs.some(({ datatype }) => datatype === 'BYTES');
    this.#onReady = onReady;
    this.#onFailed = onFailed;
    this.#slots = Array.from({ length: slotCount }, (_, index) => newSlot(index, start.ports));
    const data: WorkerStart = { ...start, slots: this.#slots.map(({ memory }) => memory.shared) };
    this.#worker = new StoppableWorker({
      script: workerScript('worker', import.meta.url),
      name,
      data,
      onMessage: (message) => this.#receive(message),
      onDeath: (reason) => this.#die(reason),
    });
    this.#worker.enter();
    for (const slot of this.#slots) this.#postInputs(slot);
  }

  run(batch: Batch): Observable<Part> {
    return new Observable((subscriber) => this.#begin(batch, subscriber));
  }

  stop(): void {
    if (this.#state !== 'dead') this.#state = 'stopping';
    this.#worker.stop();
  }

  #begin(batch: Batch, subscriber: Subscriber<Part>): TeardownLogic {
    if (this.#state !== 'ready' || this.#waiting.length >= slotCount) {
      const why = this.#state === 'ready' ? 'has no room for another batch' : 'is not running';
      subscriber.error(new InferError('UNAVAILABLE', `model instance '${this.#name}' ${why}`, { reason: 'BACKEND' }));
      return undefined;
    }
    const run = this.#admit(batch, subscriber);
    if (run.admitted.requests.length === 0 || subscriber.closed) {
      subscriber.complete();
      return undefined;
    }
    this.#worker.enter();
    this.#waiting.push(run);
    this.#startWaiting();
    return () => this.#cancel(run);
  }

  /** Answers at once the requests that cannot run. */
  #admit(batch: Batch, subscriber: Subscriber<Part>): Run {
    if (!this.#checksRequests) return { batch, subscriber, admitted: wholeBatch(batch) };
    const admitted = admitBatch(batch, this.#ports, (of, error) =>
      subscriber.next({ of, outputs: noOutputs, parameters: noParameters, isLast: true, error }),
    );
    return { batch, subscriber, admitted };
  }

  #startWaiting(): void {
    while (this.#waiting.length > 0) {
      const slot = this.#slots.find((candidate) => candidate.run === undefined);
      const run = slot === undefined ? undefined : this.#waiting.shift();
      if (slot === undefined || run === undefined) return;
      this.#start(run, slot);
    }
  }

  #start(run: Run, slot: Slot): void {
    try {
      if (writeInputs(run.admitted, this.#ports, slot.memory, slot.inputs)) this.#postInputs(slot);
    } catch (error) {
      this.#worker.leave();
      run.subscriber.error(toInferError(error, 'BACKEND'));
      return;
    }
    slot.run = run;
    slot.memory.cancelled = false;
    this.#worker.post(slot.index);
  }

  #postInputs({ index, inputs }: Slot): void {
    this.#worker.post({ slot: index, inputs: inputs.shared });
  }

  #cancel(run: Run): void {
    const position = this.#waiting.indexOf(run);
    if (position >= 0) {
      this.#waiting.splice(position, 1);
      this.#worker.leave();
      return;
    }
    for (const slot of this.#slots) if (slot.run === run) slot.memory.cancelled = true;
  }

  #receive(message: FromWorker): void {
    if (typeof message === 'number') {
      const slot = this.#slots[message];
      if (slot !== undefined) this.#answer(slot);
      return;
    }
    switch (message.kind) {
      case 'ready':
        this.#worker.leave();
        if (this.#state !== 'starting') return;
        this.#state = 'ready';
        this.#onReady();
        return;
      case 'not-loaded':
        this.#worker.leave();
        this.#state = 'dead';
        this.#onFailed(new InferError(message.code, `unable to start model instance '${this.#name}': ${message.message}`));
        return;
      case 'outputs': {
        const slot = this.#slots[message.slot];
        if (slot !== undefined) slot.outputs[message.area] = Buffer.from(message.memory);
        return;
      }
      case 'run-failed': {
        const slot = this.#slots[message.slot];
        const subscriber = slot?.run?.subscriber;
        if (slot !== undefined) this.#free(slot);
        subscriber?.error(new InferError('INTERNAL', message.message, { reason: 'BACKEND' }));
      }
    }
  }

  /** Emits while the slot is still taken, since the worker overwrites a free one; completes after, since that may bring the next batch. */
  #answer(slot: Slot): void {
    const { run } = slot;
    if (run === undefined) return;
    const { batch, subscriber, admitted } = run;
    let failure: InferError | undefined;
    if (!subscriber.closed) {
      batch.times.outputStartMs = machineScheduler.now();
      batch.times.inputEndMs = batch.times.outputStartMs - slot.memory.runMs;
      try {
        const answers = readOutputs(admitted, this.#ports, slot.memory, slot.outputs);
        for (let index = 0; index < answers.length; index++) {
          const of = admitted.positions?.[index] ?? index;
          const outputs = answers[index] ?? noOutputs;
          if (of >= 0) subscriber.next({ of, outputs, parameters: noParameters, isLast: true, error: undefined });
        }
      } catch (error) {
        failure = toInferError(error, 'BACKEND');
      }
    }
    this.#free(slot);
    if (failure === undefined) subscriber.complete();
    else subscriber.error(failure);
  }

  #free(slot: Slot): void {
    slot.run = undefined;
    this.#worker.leave();
    this.#startWaiting();
  }

  #die(reason: Error): void {
    const wasStarting = this.#state === 'starting';
    this.#state = 'dead';
    const what = wasStarting ? 'unable to start model instance' : 'death of model instance';
    const error = new InferError('INTERNAL', `${what} '${this.#name}': ${reason.message}`, { cause: reason, reason: 'BACKEND' });
    const lost = [...this.#slots.flatMap(({ run }) => run ?? []), ...this.#waiting.splice(0)];
    for (const slot of this.#slots) slot.run = undefined;
    this.#onFailed(error);
    for (const { subscriber } of lost) subscriber.error(error);
  }
}

const noOutputs: Tensors = new Map();

const newSlot = (index: number, { inputs, outputs }: ModelPorts): Slot => ({
  index,
  memory: new SlotMemory(inputs.length, outputs.length),
  inputs: new GrowingMemory(),
  outputs: [],
  run: undefined,
});
