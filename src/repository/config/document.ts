import protobuf from 'protobufjs';

type Fields = Readonly<Record<string, unknown>>;

/** 64-bit fields that Triton leaves as strings in its JSON, as the JSON form of protobuf has them. */
const writtenAsStrings = new Set([
  '.inference.ModelInstanceGroup.SecondaryDevice.device_id',
  '.inference.ModelOptimizationPolicy.Cuda.GraphSpec.Shape.dim',
]);

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null;

/** A Long, a number, a bigint or digits: all print as digits. */
const exactInteger = (value: unknown): number | bigint => {
  const exact = BigInt(String(value));
  const near = Number(exact);
  return Number.isSafeInteger(near) ? near : exact;
};

const toValue = (field: protobuf.Field, value: unknown): unknown => {
  const type = field.resolvedType;
  if (type instanceof protobuf.Type) return toDocument(type, isFields(value) ? value : {});
  if (type instanceof protobuf.Enum) return typeof value === 'number' ? (type.valuesById[value] ?? value) : value;
  if (!field.long) return value;
  return writtenAsStrings.has(field.fullName) ? String(value) : exactInteger(value);
};

const defaultOf = (field: protobuf.Field): unknown => toValue(field, field.typeDefault);

const toList = (field: protobuf.Field, value: unknown): unknown[] =>
  Array.isArray(value) ? value.map((item) => toValue(field, item)) : [];

/** Decoded messages have 64-bit keys as eight characters, one for each byte. */
const toKey = (field: protobuf.Field, key: string): string =>
  field instanceof protobuf.MapField && field.keyType.endsWith('64')
    ? String(protobuf.util.longFromKey(key, field.keyType.startsWith('u')))
    : key;

const toMap = (field: protobuf.Field, value: unknown): Fields =>
  // fromEntries, since a key may be `__proto__`.
  Object.fromEntries(isFields(value) ? Object.entries(value).map(([key, item]) => [toKey(field, key), toValue(field, item)]) : []);

/**
 * A message as the plain object that clients read: names of the proto file in the order of declaration, every scalar, list and map even at its
 * default, enums by name, absent messages and members of a oneof left out, 64-bit integers as numbers or, past 2^53, as bigint. Takes a
 * parsed message or such an object itself.
 */
export const toDocument = (type: protobuf.Type, message: object): Record<string, unknown> => {
  const given: Fields = Object.fromEntries(Object.entries(message));
  const document: Record<string, unknown> = {};
  for (const field of type.fieldsArray) {
    field.resolve();
    const value = given[field.name];
    if (field.map) document[field.name] = toMap(field, value);
    else if (field.repeated) document[field.name] = toList(field, value);
    else if (value !== undefined && value !== null) document[field.name] = toValue(field, value);
    else if (!field.partOf && !(field.resolvedType instanceof protobuf.Type)) document[field.name] = defaultOf(field);
  }
  return document;
};
