import type { Parameters } from '../../streams/inference/parameters.ts';
import type { Datatype } from '../../streams/tensors/datatype.ts';
import { firstMark, type RequestExtras, requestFields, requestFlags, requestWords } from './batch-layout.ts';
import { ModelError } from './model-module.ts';
import type { ModelRequest } from './model-request.ts';
import type { ModelTensor } from './model-tensor.ts';
import { TensorView, withDatatype } from './tensor-view.ts';
import { fromWireParameters } from './wire-parameters.ts';
import type { WorkerPorts } from './worker-ports.ts';

/** A slot's inputs as the worker reads them. */
export interface ReadMemory {
  readonly buffer: Buffer<SharedArrayBuffer>;
  readonly words: Float64Array;
  readonly longs: BigUint64Array;
  readonly marks: Int32Array;
}

/** One request of the batch that lies in a slot. */
export class BatchRequest implements ModelRequest {
  /** Its place in the batch. */
  readonly of: number;
  readonly id: string;
  readonly sequenceId: bigint | string;
  readonly sequenceStart: boolean;
  readonly sequenceEnd: boolean;
  readonly priority: bigint;
  readonly timeoutMicroseconds: bigint;
  readonly rows: number;
  readonly #memory: ReadMemory;
  readonly #ports: WorkerPorts;
  readonly #at: number;
  /** As the model sees it: from the start, or since a turn of the event loop. A signal aborted earlier would be missed by who listens to it later. */
  #isAborted: boolean;
  #controller: AbortController | undefined;
  #parameters: Parameters | undefined;

  constructor(of: number, memory: ReadMemory, ports: WorkerPorts, at: number) {
    const { words, longs } = memory;
    this.of = of;
    this.#memory = memory;
    this.#ports = ports;
    this.#at = at;
    this.#isAborted = this.isCancelled;
    const flags = words[at + requestFields.flags] ?? 0;
    const extras = this.#text(requestFields.extrasStart);
    this.id = this.#text(requestFields.idStart);
    this.sequenceStart = (flags & requestFlags.start) !== 0;
    this.sequenceEnd = (flags & requestFlags.end) !== 0;
    this.sequenceId = longs[at + requestFields.sequenceId] ?? 0n;
    this.rows = words[at + requestFields.rows] ?? 1;
    if (extras === '') {
      this.priority = 0n;
      this.timeoutMicroseconds = 0n;
      return;
    }
    const { parameters, sequenceId, priority, timeoutMicroseconds }: RequestExtras = JSON.parse(extras);
    if (parameters.length > 0) this.#parameters = fromWireParameters(parameters);
    if (sequenceId !== '') this.sequenceId = sequenceId;
    this.priority = BigInt(priority);
    this.timeoutMicroseconds = BigInt(timeoutMicroseconds);
  }

  /** The request's own, whatever a model does to it. */
  get parameters(): Parameters {
    this.#parameters ??= new Map();
    return this.#parameters;
  }

  get isCancelled(): boolean {
    return Atomics.load(this.#memory.marks, 2 * (firstMark + this.of)) === 1;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#isAborted) this.abort();
    }
    return this.#controller.signal;
  }

  get inputNames(): readonly string[] {
    return this.#ports.inputs.filter((_, port) => this.#find(port) !== undefined).map(({ name }) => name);
  }

  get outputNames(): readonly string[] {
    return this.#ports.outputs.filter((_, index) => this.wants(index)).map(({ name }) => name);
  }

  input<D extends Datatype>(name: string, datatype?: D): ModelTensor<D> {
    const view = this.optionalInput(name, datatype);
    if (view !== undefined) return view;
    if (!this.#ports.inputIndex.has(name)) throw new ModelError(`the model has no input '${name}'`);
    throw new ModelError(`the request has no input '${name}'`, 'INVALID_ARGUMENT');
  }

  optionalInput<D extends Datatype>(name: string, datatype?: D): ModelTensor<D> | undefined {
    const port = this.#ports.inputIndex.get(name);
    const view = port === undefined ? undefined : this.#find(port);
    return view === undefined ? undefined : withDatatype(name, view, datatype);
  }

  /** Whether an output is to be answered. */
  wants(output: number): boolean {
    const wanted = this.#memory.words[this.#at + requestFields.wanted] ?? 0;
    return wanted === 0 || Math.floor(wanted / 2 ** output) % 2 === 1 || this.#ports.outputs[output]?.isState === true;
  }

  /** Its caller has gone. */
  abort(): void {
    this.#isAborted = true;
    this.#controller?.abort(new ModelError('the request was cancelled', 'CANCELLED'));
  }

  #find(port: number): TensorView | undefined {
    const { words } = this.#memory;
    let at = this.#at + requestWords;
    for (let before = 0; before < port; before++) at = nextTensor(words, at);
    return readTensor(this.#memory, at, this.#ports.inputs[port]?.datatype ?? 'UINT8');
  }

  #text(field: number): string {
    const { words, buffer } = this.#memory;
    const start = words[this.#at + field] ?? 0;
    const length = words[this.#at + field + 1] ?? 0;
    return length === 0 ? '' : buffer.toString('utf8', start, start + length);
  }
}

/** Where the entry after the one at `at` begins. */
export const nextTensor = (words: Float64Array, at: number): number => (words[at] === -1 ? at + 1 : at + 3 + (words[at + 2] ?? 0));

/** The tensor whose entry is at `at`; undefined where it is absent. */
export const readTensor = ({ words, buffer }: ReadMemory, at: number, datatype: Datatype): TensorView | undefined => {
  const start = words[at] ?? -1;
  if (start === -1) return undefined;
  const shape: number[] = [];
  const rank = words[at + 2] ?? 0;
  for (let axis = 0; axis < rank; axis++) shape.push(words[at + 3 + axis] ?? 0);
  return new TensorView(datatype, shape, buffer, start, start + (words[at + 1] ?? 0));
};
