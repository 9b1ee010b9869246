import fc from 'fast-check';

/** Bytes of a varint, with up to `padding` needless bytes at its end. */
export const varint = (value: bigint, padding = 0): Buffer => {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, value);
  while (rest >= 0x80n) {
    bytes.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  bytes.push(Number(rest));
  for (let index = 0; index < padding && bytes.length < 10; index++) {
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) | 0x80;
    bytes.push(0);
  }
  return Buffer.from(bytes);
};

export const field = (number: number, wireType: number, payload: Buffer): Buffer =>
  Buffer.concat([varint(BigInt(number * 8 + wireType)), payload]);

export const ranged = (number: number, payload: Buffer): Buffer =>
  field(number, 2, Buffer.concat([varint(BigInt(payload.length)), payload]));

const padding = fc.integer({ min: 0, max: 3 });

/** Numbers near every edge that a decoder might have. */
const wholeNumber = fc.oneof(
  fc.bigInt({ min: 0n, max: 200n }),
  fc.constantFrom(
    0n,
    127n,
    128n,
    2n ** 31n - 1n,
    2n ** 31n,
    2n ** 32n - 1n,
    2n ** 32n,
    2n ** 53n,
    2n ** 63n - 1n,
    2n ** 63n,
    2n ** 64n - 1n,
  ),
  fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
);

const anyVarint = fc.tuple(wholeNumber, padding).map(([value, extra]) => varint(value, extra));

const text = fc
  .oneof(
    fc.constantFrom('', 'IN', 'INT32', 'FP32', 'BYTES', 'sequence_id', 'ünïcode ✓ 😀'),
    fc.string({ unit: 'binary', maxLength: 12, size: 'max' }),
  )
  .map((string) => Buffer.from(string));
const bytes = fc.uint8Array({ maxLength: 20, size: 'max' }).map((array) => Buffer.from(array));

/** A field that the message does not have, or has with another wire type. */
const strange = fc.oneof(
  fc.tuple(fc.integer({ min: 1, max: 2000 }), anyVarint).map(([number, payload]) => field(number, 0, payload)),
  fc.integer({ min: 1, max: 2000 }).map((number) => field(number, 1, Buffer.alloc(8, 1))),
  fc.integer({ min: 1, max: 2000 }).map((number) => field(number, 5, Buffer.alloc(4, 1))),
  fc.tuple(fc.integer({ min: 20, max: 2000 }), bytes).map(([number, payload]) => ranged(number, payload)),
);

/** A message of these fields in any order, each any number of times, with strange ones among them. */
const messageOf = (...fields: fc.Arbitrary<Buffer>[]): fc.Arbitrary<Buffer> =>
  fc
    .array(fc.oneof(...fields.map((arbitrary) => ({ weight: 4, arbitrary })), { weight: 1, arbitrary: strange }), { maxLength: 8 })
    .map((parts) => Buffer.concat(parts));

const rangedOf = (number: number, payload: fc.Arbitrary<Buffer>): fc.Arbitrary<Buffer> => payload.map((value) => ranged(number, value));
const varintOf = (number: number): fc.Arbitrary<Buffer> => anyVarint.map((value) => field(number, 0, value));

/** Varints packed into one field, or as fields of their own. */
const numbers = (number: number): fc.Arbitrary<Buffer> =>
  fc.oneof(
    fc.array(anyVarint, { maxLength: 5 }).map((values) => ranged(number, Buffer.concat(values))),
    varintOf(number),
  );

const fixed = (number: number, size: 4 | 8): fc.Arbitrary<Buffer> => {
  const element = fc.uint8Array({ minLength: size, maxLength: size }).map((array) => Buffer.from(array));
  return fc.oneof(
    fc.array(element, { maxLength: 5 }).map((values) => ranged(number, Buffer.concat(values))),
    element.map((value) => field(number, size === 4 ? 5 : 1, value)),
  );
};

const parameter = messageOf(
  varintOf(1),
  varintOf(2),
  rangedOf(3, text),
  fc.uint8Array({ minLength: 8, maxLength: 8 }).map((array) => field(4, 1, Buffer.from(array))),
  varintOf(5),
);
const entry = messageOf(rangedOf(1, text), rangedOf(2, parameter));

export const contentsBytes = messageOf(
  numbers(1),
  numbers(2),
  numbers(3),
  numbers(4),
  numbers(5),
  fixed(6, 4),
  fixed(7, 8),
  rangedOf(8, bytes),
);

const input = messageOf(rangedOf(1, text), rangedOf(2, text), numbers(3), rangedOf(4, entry), rangedOf(5, contentsBytes));
const output = messageOf(rangedOf(1, text), rangedOf(2, entry));

/** A valid `ModelInferRequest` as no sane client would write it. */
export const requestBytes = messageOf(
  rangedOf(1, text),
  rangedOf(2, text),
  rangedOf(3, text),
  rangedOf(4, entry),
  rangedOf(5, input),
  rangedOf(6, output),
  rangedOf(7, bytes),
);

/** A byte in place of another: any, or one nearby, which makes of a length the length of something else. */
const change = fc.oneof(
  fc.integer({ min: 0, max: 255 }).map((value) => () => value),
  fc.constantFrom(-8, -4, -2, -1, 1, 2, 4, 8).map((step) => (before: number) => (before + step) & 0xff),
);

/** Cut off somewhere, or with some of its bytes changed. */
export const damaged = (valid: fc.Arbitrary<Buffer>): fc.Arbitrary<Buffer> =>
  fc.tuple(valid, fc.array(fc.tuple(fc.nat(), change), { maxLength: 3 }), fc.nat(), fc.boolean()).map(([bytes, changes, cut, isCut]) => {
    const copy = Buffer.from(bytes);
    for (const [at, changed] of changes) if (copy.length > 0) copy[at % copy.length] = changed(copy[at % copy.length] ?? 0);
    return isCut && copy.length > 0 ? copy.subarray(0, cut % copy.length) : copy;
  });
