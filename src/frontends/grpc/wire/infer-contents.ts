import { Buffer } from 'node:buffer';
import type { Ranges } from './infer-request.ts';
import { FIXED32, FIXED64, LENGTH, MalformedMessage, VARINT, WireReader } from './wire-reader.ts';

/** The fields of `InferTensorContents` by number. */
export const BOOL = 1;
export const INT = 2;
export const INT64 = 3;
export const UINT = 4;
export const UINT64 = 5;
export const FP32 = 6;
export const FP64 = 7;
export const BYTES = 8;

const fieldCount = 8;

/** What lies in a `contents`: elements of each field, and for `bytes_contents` their bytes without lengths. */
export interface ContentsCounts {
  /** At index n the elements of field n. */
  readonly elements: readonly number[];
  readonly bytesTotal: number;
}

/** How one element of each field comes unpacked. */
const elementWireType = [-1, VARINT, VARINT, VARINT, VARINT, VARINT, FIXED32, FIXED64, LENGTH];
const fixedBytes = [0, 0, 0, 0, 0, 0, 4, 8, 0];

/** Called for each run of elements of a field: packed ones as one range, others one by one. */
type OnRun = (field: number, start: number, end: number) => void;

const walk = (bytes: Buffer, ranges: Ranges, onRun: OnRun): void => {
  for (let index = 0; index < ranges.length; index += 2) {
    const reader = new WireReader(bytes, ranges[index] as number, ranges[index + 1] as number);
    while (reader.hasMore) {
      const tag = reader.readTag();
      const field = tag >>> 3;
      const wireType = tag & 7;
      if (field > fieldCount) reader.skip(wireType);
      else if (wireType === LENGTH) {
        const end = reader.readRangeEnd();
        onRun(field, reader.position, end);
        reader.position = end;
      } else {
        const start = reader.position;
        reader.skip(wireType);
        if (wireType === elementWireType[field]) onRun(field, start, reader.position);
      }
    }
  }
};

const countVarints = (bytes: Buffer, start: number, end: number): number => {
  let count = 0;
  let length = 0;
  for (let index = start; index < end; index++) {
    if (++length > 10) throw new MalformedMessage('a number of more than 10 bytes');
    if ((bytes[index] as number) < 0x80) {
      count++;
      length = 0;
    }
  }
  if (length > 0) throw new MalformedMessage('the message is truncated');
  return count;
};

const countRun = (bytes: Buffer, field: number, start: number, end: number): number => {
  if (field === BYTES) return 1;
  const size = fixedBytes[field] as number;
  if (size === 0) return countVarints(bytes, start, end);
  if ((end - start) % size !== 0) throw new MalformedMessage('the message is truncated');
  return (end - start) / size;
};

/** @throws MalformedMessage */
export const countContents = (bytes: Buffer, ranges: Ranges): ContentsCounts => {
  const elements = new Array<number>(fieldCount + 1).fill(0);
  let bytesTotal = 0;
  walk(bytes, ranges, (field, start, end) => {
    elements[field] = (elements[field] as number) + countRun(bytes, field, start, end);
    if (field === BYTES) bytesTotal += end - start;
  });
  return { elements, bytesTotal };
};

/** Puts one varint that the reader stands at into `target`, and says how many bytes of it. */
type PutVarint = (reader: WireReader, target: Buffer, at: number) => number;

const put64: PutVarint = (reader, target, at) => {
  reader.readVarint64();
  target.writeUInt32LE(reader.low, at);
  target.writeUInt32LE(reader.high, at + 4);
  return 8;
};
const put32: PutVarint = (reader, target, at) => {
  target.writeUInt32LE(reader.readVarint32(), at);
  return 4;
};
const put16: PutVarint = (reader, target, at) => {
  target.writeUInt16LE(reader.readVarint32() & 0xffff, at);
  return 2;
};
const put8: PutVarint = (reader, target, at) => {
  target[at] = reader.readVarint32() & 0xff;
  return 1;
};
const putBool: PutVarint = (reader, target, at) => {
  target[at] = reader.readBool() ? 1 : 0;
  return 1;
};

const putIntegerOf = (field: number, elementBytes: number): PutVarint => {
  if (field === BOOL) return putBool;
  if (elementBytes === 8) return put64;
  if (elementBytes === 4) return put32;
  return elementBytes === 2 ? put16 : put8;
};

/** Elements of one field in the layout of the wire, of `elementBytes` each: of wider integers the low bytes; BYTES elements behind 4-byte lengths. */
export const layOutContents = (bytes: Buffer, ranges: Ranges, counts: ContentsCounts, field: number, elementBytes: number): Buffer => {
  const count = counts.elements[field] as number;
  const target = Buffer.allocUnsafe(field === BYTES ? counts.bytesTotal + 4 * count : count * elementBytes);
  const put = putIntegerOf(field, elementBytes);
  let at = 0;
  walk(bytes, ranges, (runField, start, end) => {
    if (runField !== field) return;
    if (field === BYTES) at = target.writeUInt32LE(end - start, at);
    if (field === BYTES || field === FP32 || field === FP64) {
      at += bytes.copy(target, at, start, end);
      return;
    }
    const reader = new WireReader(bytes, start, end);
    while (reader.hasMore) at += put(reader, target, at);
  });
  return target;
};
