import fc from 'fast-check';
import protobuf from 'protobufjs';

type Message = Record<string, unknown>;

const scalar = (field: protobuf.Field): fc.Arbitrary<unknown> => {
  switch (field.type) {
    case 'string':
      return fc.string({ unit: 'binary', maxLength: 8 });
    case 'bool':
      return fc.boolean();
    case 'int32':
      return fc.integer();
    case 'uint32':
      return fc.nat();
    case 'int64':
      return fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
    case 'uint64':
      return fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
    case 'float':
      return fc.float({ noNaN: true });
    default:
      return fc.double({ noNaN: true });
  }
};

const value = (field: protobuf.Field, depth: number): fc.Arbitrary<unknown> => {
  const type = field.resolve().resolvedType;
  if (type instanceof protobuf.Type) return configMessage(type, depth + 1);
  return type instanceof protobuf.Enum ? fc.constantFrom(...Object.keys(type.values)) : scalar(field);
};

const keyOf = (field: protobuf.Field): fc.Arbitrary<string> =>
  field instanceof protobuf.MapField && field.keyType === 'string'
    ? fc.oneof(fc.string({ unit: 'binary', maxLength: 4 }), fc.constant('__proto__'))
    : fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map(String);

const member = (field: protobuf.Field, depth: number): fc.Arbitrary<unknown> => {
  if (field.map)
    return fc.uniqueArray(fc.tuple(keyOf(field), value(field, depth)), { selector: ([key]) => key, maxLength: 2 }).map(Object.fromEntries);
  return field.repeated ? fc.array(value(field, depth), { maxLength: 2 }) : value(field, depth);
};

/** Any message of a type, as a plain object; at most one member of each oneof, shallow below the fourth level. */
export const configMessage = (type: protobuf.Type, depth = 0): fc.Arbitrary<Message> => {
  const fields = depth > 3 ? [] : type.fieldsArray;
  return fc
    .subarray(fields, { maxLength: Math.min(fields.length, depth === 0 ? 12 : 5) })
    .map((chosen) => chosen.filter((field, at) => !field.partOf || chosen.findIndex((other) => other.partOf === field.partOf) === at))
    .chain((chosen) => fc.tuple(...chosen.map((field) => member(field, depth).map((given) => [field.name, given] as const))))
    .map((entries) => Object.fromEntries(entries));
};
