import { UsageError } from './usage-error.ts';

const booleans: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['on', true],
  ['1', true],
  ['false', false],
  ['off', false],
  ['0', false],
]);

export const readBoolean = (value: string): boolean => {
  const known = booleans.get(value.toLowerCase());
  if (known === undefined) throw new UsageError(`invalid value for bool option: ${value}`);
  return known;
};

interface Range {
  readonly min: number;
  readonly max: number;
}

const int32: Range = { min: -(2 ** 31), max: 2 ** 31 - 1 };

export const readInteger = (value: string, range: Range = int32): number => {
  if (!/^[+-]?\d+$/.test(value)) throw new UsageError(`Invalid option value. Got ${value}`);
  const number = Number(value);
  if (number < range.min || number > range.max) throw new UsageError(`Provided option value is out of bound. Got ${value}`);
  return number;
};

export const readPort = (value: string): number => readInteger(value, { min: 0, max: 65535 });

/** Bytes, counts and durations, which may not be negative. */
export const readCount = (value: string): number => readInteger(value, { min: 0, max: Number.MAX_SAFE_INTEGER });

/** `first<separator>rest`; undefined without the separator. */
export const splitOnce = (value: string, separator: string): readonly [string, string] | undefined => {
  const at = value.indexOf(separator);
  return at === -1 ? undefined : [value.slice(0, at), value.slice(at + separator.length)];
};
