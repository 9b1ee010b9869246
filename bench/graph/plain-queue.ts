import type { Observer, Unsubscribable } from 'rxjs';
import type { ModelSpec } from '../../src/streams/inference/model-spec.ts';
import { noParameters } from '../../src/streams/inference/parameters.ts';
import type { InferRequest } from '../../src/streams/inference/request.ts';
import type { InferResponse } from '../../src/streams/inference/response.ts';
import type { Tensor } from '../../src/streams/tensors/tensor.ts';
import type { Engine } from './engine.ts';

interface Waiting extends Unsubscribable {
  readonly request: InferRequest;
  readonly caller: Observer<InferResponse>;
  readonly arrivedMs: number;
  isOpen: boolean;
}

/**
 * The graph's job for one identity model, written by hand for it alone: checks a request, keeps it in a bounded queue, makes batches at the end of the
 * tick, answers, counts what the statistics count, and lets callers cancel. What the graph costs beyond this is what its generality costs.
 */
export class PlainQueue implements Engine {
  readonly #spec: ModelSpec;
  readonly #input: string;
  readonly #output: string;
  readonly #floats: number;
  #waiting: Waiting[] = [];
  #turn: NodeJS.Immediate | undefined;
  readonly #counts = { success: 0, successNs: 0, cancelled: 0, queueNs: 0, computeNs: 0, lastExecutionMs: 0 };
  readonly #batches = new Map<number, number>();

  constructor(spec: ModelSpec) {
    const [input, output] = [spec.inputs[0], spec.outputs[0]];
    if (input === undefined || output === undefined) throw new Error('the model has no tensors');
    this.#spec = spec;
    this.#input = input.name;
    this.#output = output.name;
    this.#floats = input.dims[0] ?? 0;
  }

  ask(request: InferRequest, caller: Observer<InferResponse>): Unsubscribable {
    const waiting: Waiting = {
      request,
      caller,
      arrivedMs: performance.now(),
      isOpen: true,
      unsubscribe: () => this.#cancel(waiting),
    };
    if (!this.#isGood(request)) caller.error(new Error('a bad request'));
    else if (this.#waiting.length >= this.#spec.maxQueueSize) caller.error(new Error('too many requests'));
    else {
      this.#waiting.push(waiting);
      this.#turn ??= setImmediate(this.#run);
    }
    return waiting;
  }

  counted(): number {
    return this.#counts.success;
  }

  stop(): void {
    clearImmediate(this.#turn);
  }

  #isGood({ inputs }: InferRequest): boolean {
    const tensor = inputs.get(this.#input);
    if (inputs.size !== 1 || tensor === undefined || tensor.datatype !== 'FP32') return false;
    const [rows = 0, floats] = tensor.shape;
    return floats === this.#floats && rows > 0 && rows <= this.#spec.maxBatchSize && tensor.byteLength === 4 * rows * floats;
  }

  #cancel(waiting: Waiting): void {
    if (!waiting.isOpen) return;
    waiting.isOpen = false;
    this.#counts.cancelled++;
  }

  readonly #run = (): void => {
    this.#turn = undefined;
    const all = this.#waiting;
    this.#waiting = [];
    let batch: Waiting[] = [];
    let rows = 0;
    for (const waiting of all) {
      if (!waiting.isOpen) continue;
      const own = waiting.request.inputs.get(this.#input)?.shape[0] ?? 1;
      if (rows + own > this.#spec.maxBatchSize) {
        this.#execute(batch, rows);
        batch = [];
        rows = 0;
      }
      batch.push(waiting);
      rows += own;
    }
    if (batch.length > 0) this.#execute(batch, rows);
  };

  #execute(batch: readonly Waiting[], rows: number): void {
    const startMs = performance.now();
    for (const waiting of batch) {
      if (!waiting.isOpen) continue;
      waiting.isOpen = false;
      const { request, caller, arrivedMs } = waiting;
      const outputs = new Map<string, Tensor>();
      const tensor = request.inputs.get(this.#input);
      if (tensor !== undefined) outputs.set(this.#output, tensor);
      this.#counts.success++;
      this.#counts.queueNs += Math.round((startMs - arrivedMs) * 1e6);
      this.#counts.successNs += Math.round((performance.now() - arrivedMs) * 1e6);
      const { name, version } = this.#spec;
      caller.next({ modelName: name, modelVersion: version, id: request.id, parameters: noParameters, outputs, isLast: true });
      caller.complete();
    }
    this.#counts.computeNs += Math.round((performance.now() - startMs) * 1e6);
    this.#counts.lastExecutionMs = Date.now();
    this.#batches.set(rows, (this.#batches.get(rows) ?? 0) + 1);
  }
}
