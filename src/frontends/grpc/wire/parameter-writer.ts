import type { Parameters, ParameterValue } from '../../../streams/inference/parameters.ts';
import { FIXED64, VARINT } from './wire-reader.ts';
import { rangeFieldLength, varint64Length, writeRangeHead, writeVarint64 } from './wire-writer.ts';

/** `parameters` of `ModelInferResponse`. */
const parametersField = 4;

/** Bytes of an `InferParameter`: bigint is int64_param, number is double_param. */
const valueLength = (value: ParameterValue): number => {
  if (typeof value === 'boolean') return 2;
  if (typeof value === 'bigint') return 1 + varint64Length(value);
  if (typeof value === 'number') return 9;
  return rangeFieldLength(Buffer.byteLength(value));
};

const writeValue = (target: Buffer, at: number, value: ParameterValue): number => {
  if (typeof value === 'boolean') {
    target[at] = (1 << 3) | VARINT;
    target[at + 1] = value ? 1 : 0;
    return at + 2;
  }
  if (typeof value === 'bigint') {
    target[at] = (2 << 3) | VARINT;
    return writeVarint64(target, at + 1, value);
  }
  if (typeof value === 'number') {
    target[at] = (4 << 3) | FIXED64;
    return target.writeDoubleLE(value, at + 1);
  }
  const start = writeRangeHead(target, at, 3, Buffer.byteLength(value));
  return start + target.write(value, start);
};

const entryLength = (key: string, value: ParameterValue): number =>
  rangeFieldLength(Buffer.byteLength(key)) + rangeFieldLength(valueLength(value));

/** Bytes of all entries of the response's `parameters`. */
export const parametersLength = (parameters: Parameters): number => {
  if (parameters.size === 0) return 0;
  let length = 0;
  for (const [key, value] of parameters) length += rangeFieldLength(entryLength(key, value));
  return length;
};

export const writeParameters = (target: Buffer, at: number, parameters: Parameters): number => {
  if (parameters.size === 0) return at;
  let position = at;
  for (const [key, value] of parameters) {
    position = writeRangeHead(target, position, parametersField, entryLength(key, value));
    position = writeRangeHead(target, position, 1, Buffer.byteLength(key));
    position += target.write(key, position);
    position = writeRangeHead(target, position, 2, valueLength(value));
    position = writeValue(target, position, value);
  }
  return position;
};
