import { wrongJsonType } from '../../tensors/json-value-error.ts';
import { InferError } from '../error.ts';

/** A JSON object, its members unread. */
export type JsonObject = Readonly<Record<string, unknown>>;

export const isJsonObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Undefined for a missing member, and for any member of what is no object: Triton looks no closer. */
export const findMember = (value: unknown, name: string): unknown =>
  isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;

/** A mistake in the JSON: Triton's accessors report it as INTERNAL, so HTTP answers 500. */
export const unreadable = (prefix: string, message: string): InferError => new InferError('INTERNAL', `${prefix}: ${message}`);

const unableToParse = (name: string, message: string): InferError => unreadable(`Unable to parse '${name}'`, message);

const requireMember = (object: unknown, name: string): unknown => {
  const value = findMember(object, name);
  if (value === undefined) throw unableToParse(name, `attempt to access non-existing object member '${name}'`);
  return value;
};

export const requireArray = (object: unknown, name: string): readonly unknown[] => {
  const value = requireMember(object, name);
  if (!Array.isArray(value)) throw unableToParse(name, wrongJsonType('array').message);
  return value;
};

export const requireString = (object: unknown, name: string): string => asString(requireMember(object, name), name);

export const asString = (value: unknown, name: string): string => {
  if (typeof value !== 'string') throw unableToParse(name, wrongJsonType('string').message);
  return value;
};

export const asBoolean = (value: unknown, name: string): boolean => {
  if (typeof value !== 'boolean') throw unableToParse(name, wrongJsonType('boolean').message);
  return value;
};

/** How integers look in a document: `JsonDocument.root` has them among its numbers, `exactRoot` as bigint only. */
export type ReadInteger = (value: unknown) => number | bigint | undefined;

export const integerOfRoot: ReadInteger = (value) =>
  typeof value === 'bigint' || (typeof value === 'number' && Number.isInteger(value)) ? value : undefined;

export const integerOfExactRoot: ReadInteger = (value) => (typeof value === 'bigint' ? value : undefined);

export const largestUint64 = 2n ** 64n - 1n;

/** An unsigned integer of 64 bits. */
export const asUnsigned = (value: unknown, readInteger: ReadInteger, prefix: string): number | bigint => {
  const integer = readInteger(value);
  if (integer === undefined || integer < 0 || integer > largestUint64) throw unreadable(prefix, wrongJsonType('unsigned-integer').message);
  return integer;
};
