import type { Batch } from '../../streams/inference/backend.ts';
import { InferError } from '../../streams/inference/error.ts';
import type { InferRequest } from '../../streams/inference/request.ts';
import type { Tensor, Tensors } from '../../streams/tensors/tensor.ts';
import type { Arena, Block } from './arena.ts';
import { writeSize } from './frames.ts';
import { parametersText } from './parameters-text.ts';
import { codeOf } from './tensor-codes.ts';

/** Bytes before the first record; each record begins with a head of so many, as `RECORD` of `stub/weir_stub/requests.py` has it. */
const batchHead = 16;
const recordHead = 56;
const stringPlace = 16;
const highestId = 2n ** 64n;

export const aligned = (size: number): number => Math.ceil(size / 64) * 64;
const padded = (size: number): number => Math.ceil(size / 8) * 8;

/** Where in a batch's block each request has its mark of being cancelled. */
export interface WrittenBatch {
  readonly block: Block;
  readonly length: number;
  readonly marks: readonly number[];
}

interface Texts {
  readonly outputs: string;
  readonly id: string;
  readonly correlation: string;
  readonly parameters: string;
}

/** Of a request that has none of them, which is the usual one. */
const noTexts: Texts = { outputs: '', id: '', correlation: '', parameters: '' };

const textsOf = ({ id, outputs, sequenceId, parameters }: InferRequest): Texts => {
  const isText = typeof sequenceId === 'string';
  if (id === '' && outputs.length === 0 && !isText && parameters.size === 0) return noTexts;
  return {
    outputs: outputs.length === 0 ? '' : JSON.stringify(outputs.map(({ name }) => name)),
    id,
    correlation: isText ? sequenceId : '',
    parameters: parametersText(parameters),
  };
};

const textBytes = (text: string): number => (text === '' ? 0 : Buffer.byteLength(text, 'utf8'));

const textsBytes = (texts: Texts): number =>
  texts === noTexts ? 0 : textBytes(texts.outputs) + textBytes(texts.id) + textBytes(texts.correlation) + textBytes(texts.parameters);

/** Writes batches of one model where its process reads them; each byte of a tensor is copied once. */
export class BatchWriter {
  readonly #arena: Arena;
  /** Number by which the process knows an input. */
  readonly #names: ReadonlyMap<string, number>;

  constructor(arena: Arena, inputs: readonly string[]) {
    this.#arena = arena;
    this.#names = new Map(inputs.map((name, index) => [name, index]));
  }

  /** @throws InferError when there is no memory left or an input is not the model's */
  write({ requests, wholeInputs }: Pick<Batch, 'requests' | 'wholeInputs'>): WrittenBatch {
    const texts = requests.map(textsOf);
    let heads = batchHead;
    let data = 0;
    for (let of = 0; of < requests.length; of++) {
      const request = requests[of];
      if (request === undefined) break;
      heads += recordBytes(request, wholeInputs, texts[of] ?? noTexts);
      data += dataBytes(request.inputs) + dataBytes(wholeInputs);
    }
    const start = aligned(heads);
    const length = start + data;
    const block = this.#arena.take(length);
    try {
      return { block, length, marks: this.#fill(block, requests, wholeInputs, texts, start) };
    } catch (error) {
      this.#arena.give(block.id);
      throw error;
    }
  }

  #fill(block: Block, requests: readonly InferRequest[], whole: Tensors, texts: readonly Texts[], dataStart: number): readonly number[] {
    const { buffer } = block.segment.memory;
    const marks: number[] = [];
    buffer.writeUInt32LE(requests.length, block.offset);
    let at = block.offset + batchHead;
    let start = dataStart;
    for (let of = 0; of < requests.length; of++) {
      const request = requests[of];
      if (request === undefined) break;
      marks.push(at + 4);
      const record = new RecordWriter(buffer, at, block.offset, start, this.#names);
      at = record.write(request, whole, texts[of] ?? noTexts);
      start += dataBytes(request.inputs) + dataBytes(whole);
    }
    return marks;
  }
}

const layoutBytes = (tensors: Tensors): number => {
  let bytes = 0;
  for (const { shape } of tensors.values()) bytes += 8 + 8 * shape.length;
  return bytes;
};

const dataBytes = (tensors: Tensors): number => {
  let bytes = 0;
  for (const { start, end } of tensors.values()) bytes += aligned(end - start);
  return bytes;
};

const stringsIn = (tensors: Tensors): number => {
  let count = 0;
  for (const { datatype } of tensors.values()) if (datatype === 'BYTES') count++;
  return count;
};

const recordBytes = ({ inputs }: InferRequest, whole: Tensors, texts: Texts): number =>
  recordHead + layoutBytes(inputs) + layoutBytes(whole) + stringPlace * (stringsIn(inputs) + stringsIn(whole)) + padded(textsBytes(texts));

class RecordWriter {
  readonly #buffer: Buffer;
  readonly #at: number;
  readonly #blockStart: number;
  readonly #dataStart: number;
  readonly #names: ReadonlyMap<string, number>;
  #layoutAt: number;
  #placeAt = 0;
  /** Tensors of one size come first, since the process knows where those lie by their shapes alone. */
  #fixedEnd = 0;

  constructor(buffer: Buffer, at: number, blockStart: number, dataStart: number, names: ReadonlyMap<string, number>) {
    this.#buffer = buffer;
    this.#at = at;
    this.#blockStart = blockStart;
    this.#dataStart = dataStart;
    this.#names = names;
    this.#layoutAt = at + recordHead;
  }

  /** Returns where the next record begins. */
  write(request: InferRequest, whole: Tensors, texts: Texts): number {
    const strings = stringsIn(request.inputs) + stringsIn(whole);
    const layout = layoutBytes(request.inputs) + layoutBytes(whole);
    this.#placeAt = this.#at + recordHead + layout;
    this.#writeTensors(request.inputs);
    if (whole.size > 0) this.#writeTensors(whole);
    if (strings > 0) {
      this.#writeStrings(request.inputs);
      this.#writeStrings(whole);
    }
    const lengths = this.#writeTexts(texts);
    const end = this.#at + recordHead + layout + stringPlace * strings + padded(textsBytes(texts));
    this.#writeHead(request, { layout, strings, lengths, bytes: end - this.#at });
    return end;
  }

  #writeTensors(tensors: Tensors): void {
    for (const [name, tensor] of tensors) {
      this.#writeLayout(name, tensor);
      if (tensor.datatype === 'BYTES') continue;
      const { buffer, start, end } = tensor;
      copyBytes(buffer, start, end, this.#buffer, this.#blockStart + this.#dataStart + this.#fixedEnd);
      this.#fixedEnd += aligned(end - start);
    }
  }

  #writeLayout(name: string, { datatype, shape }: Tensor): void {
    const number = this.#names.get(name);
    if (number === undefined) throw new InferError('INTERNAL', `'${name}' is no input of the model`);
    const buffer = this.#buffer;
    const at = this.#layoutAt;
    buffer.writeUInt32LE(number | (codeOf(datatype) << 16) | (shape.length << 24), at);
    buffer.writeUInt32LE(0, at + 4);
    for (let axis = 0; axis < shape.length; axis++) writeSize(buffer, at + 8 + 8 * axis, shape[axis] ?? 0);
    this.#layoutAt = at + 8 + 8 * shape.length;
  }

  #writeStrings(tensors: Tensors): void {
    for (const { datatype, buffer, start, end } of tensors.values()) {
      if (datatype !== 'BYTES') continue;
      copyBytes(buffer, start, end, this.#buffer, this.#blockStart + this.#dataStart + this.#fixedEnd);
      writeSize(this.#buffer, this.#placeAt, this.#fixedEnd);
      writeSize(this.#buffer, this.#placeAt + 8, end - start);
      this.#placeAt += stringPlace;
      this.#fixedEnd += aligned(end - start);
    }
  }

  #writeTexts(texts: Texts): readonly [number, number, number, number] {
    if (texts === noTexts) return noLengths;
    let at = this.#placeAt;
    const put = (text: string): number => {
      const length = text === '' ? 0 : this.#buffer.write(text, at, 'utf8');
      at += length;
      return length;
    };
    return [put(texts.outputs), put(texts.id), put(texts.correlation), put(texts.parameters)];
  }

  #writeHead(request: InferRequest, { layout, strings, lengths, bytes }: RecordSizes): void {
    const buffer = this.#buffer;
    const at = this.#at;
    const { sequenceId, sequenceStart, sequenceEnd, timeoutMicroseconds } = request;
    buffer.writeUInt32LE(bytes, at);
    buffer[at + 4] = 0;
    buffer[at + 5] = (sequenceStart ? 1 : 0) | (sequenceEnd ? 2 : 0);
    buffer[at + 6] = typeof sequenceId === 'string' ? 1 : 0;
    buffer[at + 7] = 0;
    writeWide(buffer, at + 8, typeof sequenceId === 'string' ? 0n : sequenceId);
    writeWide(buffer, at + 16, timeoutMicroseconds);
    buffer.writeUInt32LE(layout, at + 24);
    for (let n = 0; n < 4; n++) buffer.writeUInt32LE(lengths[n] ?? 0, at + 28 + 4 * n);
    buffer.writeUInt32LE(strings, at + 44);
    writeSize(buffer, at + 48, this.#dataStart);
  }
}

interface RecordSizes {
  readonly layout: number;
  readonly strings: number;
  readonly lengths: readonly [number, number, number, number];
  readonly bytes: number;
}

const noLengths: readonly [number, number, number, number] = [0, 0, 0, 0];

const writeWide = (buffer: Buffer, at: number, value: bigint): void => {
  if (value === 0n) {
    buffer.writeUInt32LE(0, at);
    buffer.writeUInt32LE(0, at + 4);
  } else {
    buffer.writeBigUInt64LE(value < highestId && value >= 0n ? value : BigInt.asUintN(64, value), at);
  }
};

/** Copies a range; `Buffer.copy` where the source is a Buffer, which is quick at any alignment. */
export const copyBytes = (from: Uint8Array, start: number, end: number, to: Buffer, at: number): void => {
  if (Buffer.isBuffer(from)) from.copy(to, at, start, end);
  else Buffer.from(from.buffer, from.byteOffset, from.byteLength).copy(to, at, start, end);
};
