import type { Batch } from '../../streams/inference/backend.ts';
import type { InferRequest } from '../../streams/inference/request.ts';
import type { Tensor } from '../../streams/tensors/tensor.ts';
import { GrowingMemory } from '../workers/growing-memory.ts';
import { alignUp } from './align-up.ts';
import { firstMark, maskedOutputs, type RequestExtras, requestFields, requestFlags, requestWords } from './batch-layout.ts';
import type { ModelPorts } from './model-ports.ts';
import { toWireParameters } from './wire-parameters.ts';

const copyBytes = Buffer.prototype.copy;

/** The main thread's side of a slot's inputs: puts a batch where the worker reads it, each byte copied once. */
export class SlotInputs {
  readonly #ports: ModelPorts;
  readonly #outputIndex: ReadonlyMap<string, number>;
  readonly #memory = new GrowingMemory();
  #words: Float64Array;
  #longs: BigUint64Array;
  #marks: Int32Array;
  /** Of the batch that is being written: each tensor of each request, then text that few have. */
  readonly #tensors: (Tensor | undefined)[] = [];
  readonly #extras: string[] = [];
  #at = 0;
  #byteAt = 0;

  constructor(ports: ModelPorts) {
    this.#ports = ports;
    this.#outputIndex = new Map(ports.outputs.slice(0, maskedOutputs).map(({ name }, index) => [name, index]));
    this.#words = new Float64Array(this.#memory.shared);
    this.#longs = new BigUint64Array(this.#memory.shared);
    this.#marks = new Int32Array(this.#memory.shared);
  }

  get shared(): SharedArrayBuffer {
    return this.#memory.shared;
  }

  get buffer(): Buffer<SharedArrayBuffer> {
    return this.#memory.buffer;
  }

  /** Whether the memory had to become another one, so that the worker must be told. */
  write(batch: Batch): boolean {
    const { requests, rows, wholeInputs } = batch;
    const isNew = this.#makeRoom(batch);
    const words = this.#words;
    words[0] = requests.length;
    this.#at = firstMark;
    for (let of = 0; of < requests.length; of++) words[this.#at++] = 0;
    for (const { name } of this.#ports.wholes) this.#writeTensor(wholeInputs.get(name));
    let tensor = 0;
    for (let of = 0; of < requests.length; of++) {
      const request = requests[of];
      if (request === undefined) break;
      const begin = this.#at;
      this.#writeFields(request, rows[of] ?? 1, this.#extras[of] ?? '');
      for (let port = 0; port < this.#ports.inputs.length; port++) this.#writeTensor(this.#tensors[tensor++]);
      words[begin] = this.#at - begin;
    }
    // What is kept here would keep the requests alive.
    this.#tensors.length = 0;
    this.#extras.length = 0;
    return isNew;
  }

  /** The caller of a request has gone. */
  mark(of: number): void {
    Atomics.store(this.#marks, 2 * (firstMark + of), 1);
  }

  /** Fits the memory to the batch, and leaves the place of its first byte in `#byteAt`. */
  #makeRoom({ requests, wholeInputs }: Batch): boolean {
    let words = firstMark + requests.length * (1 + requestWords);
    let bytes = 0;
    for (const { name } of this.#ports.wholes) {
      const tensor = wholeInputs.get(name);
      words += tensor === undefined ? 1 : 3 + tensor.shape.length;
      if (tensor !== undefined) bytes += alignUp(tensor.end - tensor.start);
    }
    for (const request of requests) {
      for (const { name } of this.#ports.inputs) {
        const tensor = request.inputs.get(name);
        this.#tensors.push(tensor);
        words += tensor === undefined ? 1 : 3 + tensor.shape.length;
        if (tensor !== undefined) bytes += alignUp(tensor.end - tensor.start);
      }
      const extras = extrasOf(request);
      this.#extras.push(extras);
      // A character takes three bytes of UTF-8 at most.
      bytes += alignUp(3 * (extras.length + request.id.length));
    }
    this.#byteAt = 8 * words;
    if (!this.#memory.fit(8 * words + bytes)) return false;
    this.#words = new Float64Array(this.#memory.shared);
    this.#longs = new BigUint64Array(this.#memory.shared);
    this.#marks = new Int32Array(this.#memory.shared);
    return true;
  }

  #writeFields({ id, sequenceId, sequenceStart, sequenceEnd, outputs }: InferRequest, rows: number, extras: string): void {
    const words = this.#words;
    const at = this.#at;
    words[at + requestFields.flags] = (sequenceStart ? requestFlags.start : 0) + (sequenceEnd ? requestFlags.end : 0);
    words[at + requestFields.rows] = rows;
    let wanted = 0;
    for (const { name } of outputs) wanted = withBit(wanted, this.#outputIndex.get(name));
    words[at + requestFields.wanted] = this.#ports.outputs.length > maskedOutputs ? 0 : wanted;
    this.#longs[at + requestFields.sequenceId] = typeof sequenceId === 'bigint' ? sequenceId : 0n;
    this.#writeText(at + requestFields.idStart, id);
    this.#writeText(at + requestFields.extrasStart, extras);
    this.#at = at + requestWords;
  }

  #writeText(at: number, text: string): void {
    const length = text === '' ? 0 : this.#memory.buffer.write(text, this.#byteAt);
    this.#words[at] = this.#byteAt;
    this.#words[at + 1] = length;
    this.#byteAt += alignUp(length);
  }

  #writeTensor(tensor: Tensor | undefined): void {
    const words = this.#words;
    let at = this.#at;
    if (tensor === undefined) {
      words[at] = -1;
      this.#at = at + 1;
      return;
    }
    const { shape, buffer, start, end } = tensor;
    words[at++] = this.#byteAt;
    words[at++] = end - start;
    words[at++] = shape.length;
    for (let axis = 0; axis < shape.length; axis++) words[at++] = shape[axis] ?? 0;
    this.#at = at;
    copyBytes.call(buffer, this.#memory.buffer, this.#byteAt, start, end);
    this.#byteAt = alignUp(this.#byteAt + end - start);
  }
}

/** Of a bit mask of up to 52 bits; it may have the bit already. */
const withBit = (mask: number, bit: number | undefined): number => {
  if (bit === undefined) return mask;
  const value = 2 ** bit;
  return Math.floor(mask / value) % 2 === 1 ? mask : mask + value;
};

const extrasOf = ({ parameters, sequenceId, priority, timeoutMicroseconds }: InferRequest): string => {
  const hasText = typeof sequenceId === 'string' && sequenceId !== '';
  if (parameters.size === 0 && !hasText && priority === 0n && timeoutMicroseconds === 0n) return '';
  const extras: RequestExtras = {
    parameters: toWireParameters(parameters),
    sequenceId: hasText ? sequenceId : '',
    priority: priority.toString(),
    timeoutMicroseconds: timeoutMicroseconds.toString(),
  };
  return JSON.stringify(extras);
};
