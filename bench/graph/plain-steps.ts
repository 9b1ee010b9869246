import type { Observer, Unsubscribable } from 'rxjs';
import type { ModelSpec } from '../../src/streams/inference/model-spec.ts';
import { noParameters } from '../../src/streams/inference/parameters.ts';
import type { InferRequest } from '../../src/streams/inference/request.ts';
import type { InferResponse } from '../../src/streams/inference/response.ts';
import { Tensor } from '../../src/streams/tensors/tensor.ts';
import { tensorFrom } from '../../src/streams/tensors/tensor-from-values.ts';
import { zeroTensor } from '../../src/streams/tensors/zero-tensor.ts';
import type { Engine } from './engine.ts';
import { StepModel } from './step-model.ts';

interface Waiting extends Unsubscribable {
  readonly request: InferRequest;
  readonly caller: Observer<InferResponse>;
  readonly sequence: PlainSequence;
  readonly arrivedMs: number;
  isOpen: boolean;
}

interface PlainSequence {
  readonly waiting: Waiting[];
  readonly id: Tensor;
  readonly state: Buffer;
  stateTensor: Tensor;
  lastSeenMs: number;
  isReady: boolean;
}

const flags = [0, 1].map((value) => tensorFrom('INT32', [1, 1], [value]));

/**
 * The graph's job for one model with sequences, written by hand for it alone: checks a request, finds its sequence, keeps it in a bounded queue, makes
 * batches of one request of each sequence at the end of the tick, adds the control inputs and the state, keeps the state that comes out, answers,
 * counts what the statistics count, and lets callers cancel.
 */
export class PlainSteps implements Engine {
  readonly #spec: ModelSpec;
  readonly #model = new StepModel();
  readonly #live = new Map<bigint | string, PlainSequence>();
  #ready: PlainSequence[] = [];
  #queued = 0;
  #turn: NodeJS.Immediate | undefined;
  readonly #counts = { success: 0, successNs: 0, cancelled: 0, queueNs: 0, computeNs: 0, lastExecutionMs: 0 };
  readonly #batches = new Map<number, number>();

  constructor(spec: ModelSpec) {
    this.#spec = spec;
  }

  ask(request: InferRequest, caller: Observer<InferResponse>): Unsubscribable {
    const sequence = this.#sequenceOf(request);
    const arrivedMs = performance.now();
    const waiting: Waiting = { request, caller, sequence, arrivedMs, isOpen: true, unsubscribe: () => this.#cancel(waiting) };
    if (!this.#isGood(request)) caller.error(new Error('a bad request'));
    else if (this.#queued >= this.#spec.maxQueueSize) caller.error(new Error('too many requests'));
    else {
      this.#queued++;
      sequence.lastSeenMs = arrivedMs;
      sequence.waiting.push(waiting);
      this.#enqueue(sequence);
    }
    return waiting;
  }

  counted(): number {
    return this.#counts.success;
  }

  stop(): void {
    clearImmediate(this.#turn);
  }

  #sequenceOf({ sequenceId, sequenceStart, sequenceEnd }: InferRequest): PlainSequence {
    let sequence = this.#live.get(sequenceId);
    if (sequence === undefined) {
      if (!sequenceStart) throw new Error(`${sequenceId} has not begun`);
      const id = Buffer.alloc(8);
      id.writeBigUInt64LE(BigInt(sequenceId));
      sequence = {
        waiting: [],
        id: new Tensor('UINT64', [1, 1], id),
        state: Buffer.alloc(1024),
        stateTensor: zeroTensor('FP32', [1, 256]),
        lastSeenMs: 0,
        isReady: false,
      };
      this.#live.set(sequenceId, sequence);
    }
    if (sequenceEnd) this.#live.delete(sequenceId);
    return sequence;
  }

  #enqueue(sequence: PlainSequence): void {
    if (sequence.isReady) return;
    sequence.isReady = true;
    this.#ready.push(sequence);
    this.#turn ??= setImmediate(this.#run);
  }

  #isGood({ inputs }: InferRequest): boolean {
    const tensor = inputs.get('INPUT0');
    if (inputs.size !== 1 || tensor === undefined || tensor.datatype !== 'FP32') return false;
    return tensor.shape[0] === 1 && tensor.shape[1] === 16 && tensor.byteLength === 64;
  }

  #cancel(waiting: Waiting): void {
    if (!waiting.isOpen) return;
    waiting.isOpen = false;
    this.#counts.cancelled++;
  }

  readonly #run = (): void => {
    this.#turn = undefined;
    const ready = this.#ready;
    this.#ready = [];
    for (let from = 0; from < ready.length; from += this.#spec.maxBatchSize) {
      this.#execute(ready.slice(from, from + this.#spec.maxBatchSize));
    }
  };

  #execute(batch: readonly PlainSequence[]): void {
    const startMs = performance.now();
    for (const [row, sequence] of batch.entries()) {
      const waiting = sequence.waiting.shift();
      sequence.isReady = false;
      this.#queued--;
      if (waiting !== undefined) this.#answer(row, waiting, startMs);
      if (sequence.waiting.length > 0) this.#enqueue(sequence);
    }
    this.#counts.computeNs += Math.round((performance.now() - startMs) * 1e6);
    this.#counts.lastExecutionMs = Date.now();
    this.#batches.set(batch.length, (this.#batches.get(batch.length) ?? 0) + 1);
  }

  #answer(row: number, { request, caller, sequence, arrivedMs, isOpen }: Waiting, startMs: number): void {
    const [no, yes] = flags;
    if (no === undefined || yes === undefined) return;
    const inputs = new Map(request.inputs);
    inputs.set('START', request.sequenceStart ? yes : no);
    inputs.set('END', request.sequenceEnd ? yes : no);
    inputs.set('READY', yes);
    inputs.set('CORRID', sequence.id);
    inputs.set('STATE', sequence.stateTensor);
    const all = this.#model.run(row, inputs);
    const state = all.get('STATE_OUT');
    const output = all.get('OUTPUT0');
    if (state === undefined || output === undefined) return;
    Buffer.prototype.copy.call(state.buffer, sequence.state, 0, state.start, state.end);
    sequence.stateTensor = new Tensor('FP32', state.shape, sequence.state);
    if (!isOpen) return;
    this.#counts.success++;
    this.#counts.queueNs += Math.round((startMs - arrivedMs) * 1e6);
    this.#counts.successNs += Math.round((performance.now() - arrivedMs) * 1e6);
    const { name, version } = this.#spec;
    const outputs = new Map([['OUTPUT0', output]]);
    caller.next({ modelName: name, modelVersion: version, id: request.id, parameters: noParameters, outputs, isLast: true });
    caller.complete();
  }
}
