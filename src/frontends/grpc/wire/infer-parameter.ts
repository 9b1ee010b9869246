import type { ParameterValue } from '../../../streams/inference/parameters.ts';
import type { StringTable } from './string-table.ts';
import { FIXED64, LENGTH, VARINT, type WireReader } from './wire-reader.ts';

/** Which member of `parameter_choice` is set; `none` for no member. */
export type ParameterKind = 'none' | 'bool_param' | 'int64_param' | 'string_param' | 'double_param' | 'uint64_param';

/** One `InferParameter`: a 64-bit integer says by its kind whether it came signed. */
export interface WireParameter {
  readonly kind: ParameterKind;
  readonly value: ParameterValue | undefined;
}

export type WireParameters = Map<string, WireParameter>;

const unset: WireParameter = { kind: 'none', value: undefined };

/** The message between `position` and `end`, merged into what came before it: the last member wins. */
const readParameter = (reader: WireReader, end: number, strings: StringTable, before: WireParameter): WireParameter => {
  const outerEnd = reader.end;
  reader.end = end;
  let parameter = before;
  while (reader.hasMore) {
    const tag = reader.readTag();
    if (tag === ((1 << 3) | VARINT)) parameter = { kind: 'bool_param', value: reader.readBool() };
    else if (tag === ((2 << 3) | VARINT)) parameter = { kind: 'int64_param', value: reader.readInt64() };
    else if (tag === ((3 << 3) | LENGTH)) {
      const stringEnd = reader.readRangeEnd();
      parameter = { kind: 'string_param', value: strings.single(reader.bytes, reader.position, stringEnd) };
      reader.position = stringEnd;
    } else if (tag === ((4 << 3) | FIXED64)) parameter = { kind: 'double_param', value: reader.readDouble() };
    else if (tag === ((5 << 3) | VARINT)) parameter = { kind: 'uint64_param', value: reader.readUint64() };
    else reader.skip(tag & 7);
  }
  reader.end = outerEnd;
  return parameter;
};

/** Reads one entry of a `map<string, InferParameter>` into `into`: a key or a value that is missing is an empty one, a later entry replaces. */
export const readParameterEntry = (reader: WireReader, into: WireParameters, strings: StringTable): void => {
  reader.countPart();
  const end = reader.readRangeEnd();
  const outerEnd = reader.end;
  reader.end = end;
  let key = '';
  let value = unset;
  while (reader.hasMore) {
    const tag = reader.readTag();
    if (tag === ((1 << 3) | LENGTH)) {
      const keyEnd = reader.readRangeEnd();
      key = strings.recurring(reader.bytes, reader.position, keyEnd);
      reader.position = keyEnd;
    } else if (tag === ((2 << 3) | LENGTH)) value = readParameter(reader, reader.readRangeEnd(), strings, value);
    else reader.skip(tag & 7);
  }
  reader.end = outerEnd;
  into.set(key, value);
};
