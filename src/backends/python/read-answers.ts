import type { Part } from '../../streams/inference/backend.ts';
import { type ErrorCode, InferError } from '../../streams/inference/error.ts';
import { noParameters } from '../../streams/inference/parameters.ts';
import { Tensor, type Tensors } from '../../streams/tensors/tensor.ts';
import { readSize } from './frames.ts';
import { parseParameters } from './parameters-text.ts';
import { datatypeOf } from './tensor-codes.ts';

const batchHead = 16;
const recordHead = 16;
const outputHead = 24;
const flags = { last: 1, rescheduled: 2, error: 4 } as const;

/** By the numbers of `TritonError`. */
const codes: readonly ErrorCode[] = [
  'UNKNOWN',
  'INTERNAL',
  'NOT_FOUND',
  'INVALID_ARGUMENT',
  'UNAVAILABLE',
  'UNIMPLEMENTED',
  'ALREADY_EXISTS',
  'CANCELLED',
];

export const errorCodeOf = (code: number): ErrorCode => codes[code] ?? 'INTERNAL';

/** The nearest of the codes that Python models know. */
export const numberOfCode = (code: ErrorCode): number => {
  const number = codes.indexOf(code);
  return number === -1 ? codes.indexOf('UNAVAILABLE') : number;
};

const noOutputs: Tensors = new Map();
const padded = (size: number): number => Math.ceil(size / 8) * 8;

/** Answers of a process, as `stub/weir_stub/answers.py` writes them into a block of its memory. */
export class AnswerReader {
  /** Of the block. */
  readonly #buffer: Buffer;
  readonly #dataStart: number;
  readonly #own: (segment: number) => Buffer;
  #at: number;
  #left: number;
  /** How long the model ran. */
  readonly runMs: number;

  /** `own` gives this server's memory by segment: outputs that are inputs lie there still. */
  constructor(buffer: Buffer, offset: number, own: (segment: number) => Buffer) {
    this.#buffer = buffer;
    this.#own = own;
    this.runMs = buffer.readDoubleLE(offset) * 1000;
    this.#left = buffer.readUInt32LE(offset + 8);
    this.#dataStart = offset + buffer.readUInt32LE(offset + 12);
    this.#at = offset + batchHead;
  }

  get isEmpty(): boolean {
    return this.#left === 0;
  }

  /** The next answer; its tensors are views of the memory. */
  next(): Part {
    const buffer = this.#buffer;
    const at = this.#at;
    this.#left--;
    const of = buffer.readUInt32LE(at);
    const marks = buffer[at + 4] ?? 0;
    const code = buffer[at + 5] ?? 0;
    const outputs = buffer.readUInt16LE(at + 6);
    const textLength = buffer.readUInt32LE(at + 8);
    this.#at = at + recordHead;
    const text = textLength === 0 ? '' : this.#text(textLength);
    const isLast = (marks & flags.last) !== 0;
    if ((marks & flags.error) !== 0) {
      const error = new InferError(errorCodeOf(code), text, { reason: 'BACKEND' });
      return { of, outputs: noOutputs, parameters: noParameters, isLast, error };
    }
    const tensors = outputs === 0 ? noOutputs : this.#tensors(outputs);
    const parameters = parseParameters(text);
    if ((marks & flags.rescheduled) === 0) return { of, outputs: tensors, parameters, isLast, error: undefined };
    return { of, outputs: tensors, parameters, isLast, isRescheduled: true, error: undefined };
  }

  #text(length: number): string {
    const text = this.#buffer.toString('utf8', this.#at, this.#at + length);
    this.#at += padded(length);
    return text;
  }

  #tensors(count: number): Tensors {
    const tensors = new Map<string, Tensor>();
    for (let n = 0; n < count; n++) this.#readTensor(tensors);
    return tensors;
  }

  #readTensor(tensors: Map<string, Tensor>): void {
    const buffer = this.#buffer;
    const at = this.#at;
    const low = buffer.readUInt32LE(at);
    const high = buffer.readUInt32LE(at + 4);
    const segment = high >>> 16;
    const offset = low + (high & 0xffff) * 2 ** 32;
    const size = readSize(buffer, at + 8);
    const nameLength = buffer.readUInt16LE(at + 16);
    const datatype = datatypeOf(buffer[at + 18] ?? 0);
    const rank = buffer[at + 19] ?? 0;
    const shape: number[] = [];
    for (let axis = 0; axis < rank; axis++) shape.push(readSize(buffer, at + outputHead + 8 * axis));
    const nameAt = at + outputHead + 8 * rank;
    const name = buffer.toString('utf8', nameAt, nameAt + nameLength);
    this.#at = nameAt + padded(nameLength);
    if (datatype === undefined) throw new InferError('INTERNAL', `output '${name}' has no datatype`, { reason: 'BACKEND' });
    const memory = segment === 0 ? buffer : this.#own(segment - 1);
    const start = segment === 0 ? this.#dataStart + offset : offset;
    tensors.set(name, new Tensor(datatype, shape, memory, start, start + size));
  }
}
