import fc from 'fast-check';
import { expect, it } from 'vitest';
import { explainSyntaxError } from '../../../../src/streams/inference/json/explain-syntax-error.ts';
import { jsonText } from '../../../../src/streams/inference/json/json-text.ts';
import { parseDocument } from '../../../../src/streams/inference/json/parse-document.ts';
import { propertyParameters } from '../../../parameters.ts';

const anyInteger = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n });

/** Of 16 digits, where doubles begin to miss some. */
const barelyLarge = fc
  .tuple(fc.bigInt({ min: 2n ** 53n - 5n, max: 10n ** 16n - 1n }), fc.constantFrom(1n, -1n))
  .map(([size, sign]) => sign * size);

/** As `root` has it: bigint only where a double would not do. */
const asRead = (integer: bigint): bigint | number => (Number.isSafeInteger(Number(integer)) ? Number(integer) : integer);

const { document } = fc.letrec((tie) => ({
  document: fc.oneof({ depthSize: 'small' }, tie('leaf'), fc.array(tie('document')), fc.dictionary(fc.string(), tie('document'))),
  leaf: fc.oneof(
    anyInteger.map(asRead),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
    fc.string({ unit: 'binary' }),
    fc.boolean(),
    fc.constant(null),
  ),
}));

// Kills: a regular expression that misses an integer at the edge of an array, or looks only at those of 17 digits and more.
it('reads back every document that jsonText writes, large integers included', () => {
  fc.assert(
    fc.property(fc.oneof(fc.array(document), fc.array(barelyLarge.map(asRead), { minLength: 1, maxLength: 2 })), (value) => {
      const text = jsonText(value);
      expect(parseDocument(Buffer.from(text)).root).toEqual(JSON.parse(text, (_key, read, context) => exactly(read, context.source)));
    }),
    propertyParameters(0.5),
  );
});

const exactly = (value: unknown, source = ''): unknown =>
  typeof value === 'number' && /^-?\d+$/.test(source) && !Number.isSafeInteger(value) && source.length <= 20 ? BigInt(source) : value;

const text = fc.oneof(
  document.map((value) => jsonText(value)),
  fc.json(),
);

/** A sound text with one character changed, taken away or put in. */
const damaged = fc
  .tuple(
    text,
    fc.nat(),
    fc.constantFrom('', '"', '\\', '{', '}', '[', ']', ',', ':', '0', '-', '.', 'e', 'n', ' ', '\n', '\u0001', 'u'),
    fc.boolean(),
  )
  .map(([sound, seed, put, isInserted]) => {
    const at = seed % (sound.length + 1);
    return sound.slice(0, at) + put + sound.slice(isInserted ? at : at + 1);
  });

const joined = (...parts: readonly string[]) =>
  fc.array(fc.constantFrom(...parts), { minLength: 1, maxLength: 6 }).map((some) => some.join(''));

/** Close to a number, or to a string. */
const nearly = fc.oneof(
  joined('0', '1', '9', '-', '+', '.', 'e', 'E').map((number) => `[${number}]`),
  joined('\\', '"', '/', 'b', 'u00e9', 'ud83d', 'ude00', 'u00', '\t', 'x').map((content) => `["${content}"]`),
);

const isJson = (candidate: string): boolean => {
  try {
    JSON.parse(candidate);
    return true;
  } catch {
    return false;
  }
};

/** What Triton's parser refuses and JSON.parse takes. */
const isStricter = (message: string): boolean => message.includes('surrogate pair') || message.includes('too big');

// Kills: any rule of the grammar that the explanation forgets, or makes up.
it('finds a fault in a text exactly when JSON.parse does', () => {
  fc.assert(
    fc.property(fc.oneof(damaged, nearly), (candidate) => {
      const problem = explainSyntaxError(candidate);
      if (isJson(candidate)) expect(problem === undefined || isStricter(problem.message)).toBe(true);
      else expect(problem).toBeDefined();
    }),
    propertyParameters(),
  );
});

const value = fc.oneof(fc.double({ noInteger: true }), fc.constantFrom(Number.NaN, Infinity, -Infinity), fc.string());

const bareText = (item: number | string): string => {
  if (typeof item === 'string') return JSON.stringify(item);
  return Number.isFinite(item) ? JSON.stringify(item) : String(item);
};

/** What is written, and what it says. */
const written = fc.oneof(
  fc.oneof(value, fc.constantFrom('NaN', '"Inf', '\\', '0e71')).map((item) => ({ text: bareText(item), item })),
  fc.constantFrom('0e71', '0e81', '0e72').map((text) => ({ text, item: 0 })),
);

// Kills: a marker that a client's own zero is taken for; a token replaced inside a string.
it('reads bare tokens among numbers and strings', () => {
  fc.assert(
    fc.property(fc.array(written), (items) => {
      const read = parseDocument(Buffer.from(`[${items.map(({ text }) => text).join(', ')}]`)).root;
      expect(read).toEqual(items.map(({ item }) => item));
    }),
    propertyParameters(),
  );
});
