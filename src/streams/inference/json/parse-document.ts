import { isUtf8 } from 'node:buffer';
import { InferError } from '../error.ts';
import { explainSyntaxError } from './explain-syntax-error.ts';
import { markBareNumbers } from './mark-bare-numbers.ts';
import { nestsDeeperThan } from './nesting.ts';

declare global {
  interface JSON {
    /** `source` is the text of a number, string, boolean or null. */
    parse(text: string, reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown): unknown;
  }
}

/** What Triton lets `data` nest, and the three levels above it: the request, `inputs`, one input. */
const deepestDocument = 100 + 3;

/** Integers past 2^53 inside an array or object, and numbers that may be past all doubles: for these the digits themselves are looked at. */
const largeNumber = /[[,:\s-]\d{16,}[,\]}\s]|[eE]\+?\d{3}/;
const escapedSurrogate = /\\u[dD][89a-fA-F]/;
const bareNumber = /Inf|NaN/;
const fraction = /\d[.eE]/;
const fractionMember = /:\s*-?\d+[.eE]|"shape"\s*:\s*\[[^\]]*\d[.eE]/;

/** Tokens that `markBareNumbers` wrote, and what they stand for. */
export type BareNumbers = ReadonlyMap<string, number>;

const noBareNumbers: BareNumbers = new Map();

/** A JSON document, and on demand the difference between `1` and `1.0`, which JSON.parse does not tell. */
export class JsonDocument {
  /** Integers past 2^53 that 64 bits may hold are bigint; every other number is a number, NaN and the infinities included. */
  readonly root: unknown;
  readonly #text: string;
  readonly #bareNumbers: BareNumbers;
  #exact: { readonly root: unknown } | undefined;
  #hasFractions: boolean | undefined;
  #hasFractionMembers: boolean | undefined;

  constructor(root: unknown, text: string, bareNumbers: BareNumbers) {
    this.root = root;
    this.#text = text;
    this.#bareNumbers = bareNumbers;
  }

  /** False when no number in the text has a fraction or an exponent: then a whole number in `root` was written as an integer. */
  get hasFractions(): boolean {
    this.#hasFractions ??= fraction.test(this.#text);
    return this.#hasFractions;
  }

  /** The same of numbers outside `data`: members of objects, and sizes of a shape. */
  get hasFractionMembers(): boolean {
    this.#hasFractionMembers ??= fractionMember.test(this.#text);
    return this.#hasFractionMembers;
  }

  /** `root` again, every integer a bigint and every number written with a fraction or an exponent a number. Read on first use, ten times slower. */
  get exactRoot(): unknown {
    this.#exact ??= { root: parseWithDigits(this.#text, this.#bareNumbers, bigintWhenInteger) };
    return this.#exact.root;
  }
}

/**
 * Reads the bytes from `start` to `end` as JSON, with the bare tokens `NaN`, `Inf` and `Infinity`, signed too, as numbers.
 *
 * @throws InferError INTERNAL for what is no JSON, as in Triton, whose wording and byte offset the message has; INVALID_ARGUMENT for JSON that nests too deep
 */
export const parseDocument = (bytes: Buffer, start = 0, end = bytes.byteLength): JsonDocument => {
  if (nestsDeeperThan(bytes, start, end, deepestDocument)) {
    throw new InferError('INVALID_ARGUMENT', 'JSON nesting depth exceeds maximum allowed limit (100)');
  }
  const text = bytes.toString('utf8', start, end);
  // Broken UTF-8 decodes to U+FFFD; so does U+FFFD itself.
  if (text.includes('\uFFFD') && !isUtf8(bytes.subarray(start, end)))
    throw malformed('Invalid encoding in string.', text.indexOf('\uFFFD'));
  if (escapedSurrogate.test(text)) refuseSyntax(text);
  try {
    return new JsonDocument(largeNumber.test(text) ? parseLarge(text, noBareNumbers) : JSON.parse(text), text, noBareNumbers);
  } catch (cause) {
    if (cause instanceof InferError) throw cause;
    return parseLeniently(text, cause);
  }
};

const parseLeniently = (text: string, cause: unknown): JsonDocument => {
  refuseSyntax(text);
  if (!bareNumber.test(text)) throw malformed('Unspecific syntax error.', 0, cause);
  const marked = markBareNumbers(text);
  return new JsonDocument(parseLarge(marked.text, marked.bareNumbers), marked.text, marked.bareNumbers);
};

const parseLarge = (text: string, bareNumbers: BareNumbers): unknown => parseWithDigits(text, bareNumbers, bigintWhenLarge);

type ReadNumber = (value: number, digits: string) => number | bigint;

/** 64-bit integers have at most 19 digits and a sign, or 20 digits; what is longer is a double, as in Triton. */
const isInteger64 = (digits: string): boolean => digits.length <= 20 && !/[.eE]/.test(digits);

const bigintWhenLarge: ReadNumber = (value, digits) => (!Number.isSafeInteger(value) && isInteger64(digits) ? BigInt(digits) : value);
const bigintWhenInteger: ReadNumber = (value, digits) => (isInteger64(digits) ? BigInt(digits) : value);

const parseWithDigits = (text: string, bareNumbers: BareNumbers, readNumber: ReadNumber): unknown =>
  JSON.parse(text, (_key: string, value: unknown, context: { readonly source?: string }): unknown => {
    if (typeof value !== 'number') return value;
    const digits = context.source ?? '';
    const bare = value === 0 ? bareNumbers.get(digits) : undefined;
    if (bare !== undefined) return bare;
    if (!Number.isFinite(value)) throw malformed('Number too big to be stored in double.', text.indexOf(digits));
    return readNumber(value, digits);
  });

const refuseSyntax = (text: string): void => {
  const problem = explainSyntaxError(text);
  if (problem !== undefined) throw malformed(problem.message, Buffer.byteLength(text.slice(0, problem.at)));
};

const malformed = (message: string, offset: number, cause?: unknown): InferError =>
  new InferError('INTERNAL', `failed to parse the request JSON buffer: ${message} at ${offset}`, { cause });
