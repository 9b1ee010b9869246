import { readParameterEntry, type WireParameters } from './infer-parameter.ts';
import type { StringTable } from './string-table.ts';
import { LENGTH, VARINT, WireReader } from './wire-reader.ts';

/** Ranges of the message's buffer: start and end of the first, of the second, and so on. */
export type Ranges = number[];

/** An `InferInputTensor` as it came, unchecked. */
export interface WireInput {
  name: string;
  datatype: string;
  readonly shape: number[];
  parameters: WireParameters | undefined;
  /** Where the bytes of `contents` are: a message that comes in several parts is the same as its parts joined. Undefined without any. */
  contents: Ranges | undefined;
}

/** An `InferRequestedOutputTensor` as it came. */
export interface WireOutput {
  name: string;
  parameters: WireParameters | undefined;
}

/** A `ModelInferRequest` as it came. Tensor data stays where it is in `bytes`. */
export interface WireRequest {
  readonly bytes: Buffer;
  modelName: string;
  modelVersion: string;
  id: string;
  parameters: WireParameters | undefined;
  readonly inputs: WireInput[];
  readonly outputs: WireOutput[];
  readonly rawContents: Ranges;
}

const readRecurring = (reader: WireReader, strings: StringTable): string => {
  const end = reader.readRangeEnd();
  const text = strings.recurring(reader.bytes, reader.position, end);
  reader.position = end;
  return text;
};

const readDimension = (reader: WireReader, shape: number[]): void => {
  reader.countPart();
  shape.push(reader.readInt64AsNumber());
};

const readPackedShape = (reader: WireReader, shape: number[]): void => {
  const end = reader.readRangeEnd();
  const outerEnd = reader.end;
  reader.end = end;
  while (reader.hasMore) readDimension(reader, shape);
  reader.end = outerEnd;
};

const readInput = (reader: WireReader, strings: StringTable): WireInput => {
  reader.countPart();
  const input: WireInput = { name: '', datatype: '', shape: [], parameters: undefined, contents: undefined };
  const end = reader.readRangeEnd();
  const outerEnd = reader.end;
  reader.end = end;
  while (reader.hasMore) {
    const tag = reader.readTag();
    if (tag === ((1 << 3) | LENGTH)) input.name = readRecurring(reader, strings);
    else if (tag === ((2 << 3) | LENGTH)) input.datatype = readRecurring(reader, strings);
    else if (tag === ((3 << 3) | LENGTH)) readPackedShape(reader, input.shape);
    else if (tag === ((3 << 3) | VARINT)) readDimension(reader, input.shape);
    else if (tag === ((4 << 3) | LENGTH)) {
      input.parameters ??= new Map();
      readParameterEntry(reader, input.parameters, strings);
    } else if (tag === ((5 << 3) | LENGTH)) {
      const contentsEnd = reader.readRangeEnd();
      reader.countPart();
      input.contents ??= [];
      input.contents.push(reader.position, contentsEnd);
      reader.position = contentsEnd;
    } else reader.skip(tag & 7);
  }
  reader.end = outerEnd;
  return input;
};

const readOutput = (reader: WireReader, strings: StringTable): WireOutput => {
  reader.countPart();
  const output: WireOutput = { name: '', parameters: undefined };
  const end = reader.readRangeEnd();
  const outerEnd = reader.end;
  reader.end = end;
  while (reader.hasMore) {
    const tag = reader.readTag();
    if (tag === ((1 << 3) | LENGTH)) output.name = readRecurring(reader, strings);
    else if (tag === ((2 << 3) | LENGTH)) {
      output.parameters ??= new Map();
      readParameterEntry(reader, output.parameters, strings);
    } else reader.skip(tag & 7);
  }
  reader.end = outerEnd;
  return output;
};

/**
 * Reads a `ModelInferRequest` in whatever order and packing its fields come; unknown fields are passed over. `contents` is left unread.
 *
 * @throws MalformedMessage
 */
export const readInferRequest = (bytes: Buffer, strings: StringTable): WireRequest => {
  const reader = new WireReader(bytes);
  const request: WireRequest = {
    bytes,
    modelName: '',
    modelVersion: '',
    id: '',
    parameters: undefined,
    inputs: [],
    outputs: [],
    rawContents: [],
  };
  while (reader.hasMore) {
    const tag = reader.readTag();
    if (tag === ((7 << 3) | LENGTH)) {
      const end = reader.readRangeEnd();
      reader.countPart();
      request.rawContents.push(reader.position, end);
      reader.position = end;
    } else if (tag === ((5 << 3) | LENGTH)) request.inputs.push(readInput(reader, strings));
    else if (tag === ((1 << 3) | LENGTH)) request.modelName = readRecurring(reader, strings);
    else if (tag === ((2 << 3) | LENGTH)) request.modelVersion = readRecurring(reader, strings);
    else if (tag === ((3 << 3) | LENGTH)) {
      const end = reader.readRangeEnd();
      request.id = strings.single(bytes, reader.position, end);
      reader.position = end;
    } else if (tag === ((4 << 3) | LENGTH)) {
      request.parameters ??= new Map();
      readParameterEntry(reader, request.parameters, strings);
    } else if (tag === ((6 << 3) | LENGTH)) request.outputs.push(readOutput(reader, strings));
    else reader.skip(tag & 7);
  }
  return request;
};
