import { describe, expect, it } from 'vitest';
import { InferError } from '../../../../src/streams/inference/error.ts';
import { parseDocument } from '../../../../src/streams/inference/json/parse-document.ts';

const parse = (text: string): unknown => parseDocument(Buffer.from(text)).root;

const failure = (bytes: string | Uint8Array): string => {
  try {
    parseDocument(Buffer.from(bytes));
  } catch (error) {
    if (error instanceof InferError) return `${error.code} ${error.message}`;
  }
  return 'none';
};

describe('parseDocument', () => {
  it('reads what lies between start and end', () => {
    expect(parseDocument(Buffer.from('xx{"a":[1,true,null,"ü"]}yy'), 2, 26).root).toEqual({ a: [1, true, null, 'ü'] });
  });

  it('keeps integers that no double holds', () => {
    expect(parse('[9007199254740991,9007199254740993,-9223372036854775808,18446744073709551615]')).toEqual([
      9007199254740991,
      9007199254740993n,
      -9223372036854775808n,
      18446744073709551615n,
    ]);
  });

  it.each(['[ 9007199254740993 ]', '{"a":9007199254740993}', '[1,\n9007199254740993\n]'])('finds the integer in %j', (text) => {
    expect(JSON.stringify(parse(text), (_key, value) => (typeof value === 'bigint' ? 'big' : value))).toContain('"big"');
  });

  it('reads an integer of more than 64 bits as a double', () => {
    expect(parse('[123456789012345678901234567890]')).toEqual([1.2345678901234568e29]);
  });

  it('leaves digits in strings and fractions alone', () => {
    expect(parse('["9007199254740993",0.1234567890123456789]')).toEqual(['9007199254740993', 0.12345678901234568]);
  });

  it('reads the bare tokens that JSON does not have, outside strings', () => {
    expect(parse('{"a":[NaN,-NaN,Inf,-Inf,Infinity,-Infinity],"b":"NaN \\"Inf","c":NaN}')).toEqual({
      a: [Number.NaN, Number.NaN, Infinity, -Infinity, Infinity, -Infinity],
      b: 'NaN "Inf',
      c: Number.NaN,
    });
  });

  it('tells bare tokens from any zero that a client writes', () => {
    expect(parse('[0e71,-0e81,0e7,NaN,Inf]')).toEqual([0, -0, 0, Number.NaN, Infinity]);
  });

  it('keeps large integers beside bare tokens', () => {
    expect(parse('[9007199254740993,NaN]')).toEqual([9007199254740993n, Number.NaN]);
  });

  it.each([
    ['', 'The document is empty. at 0'],
    ['{"inputs":[', 'Invalid value. at 11'],
    ['{"a":1 "b":2}', 'Missing a comma or } after an object member. at 7'],
    ['[1 2]', 'Missing a comma or ] after an array element. at 3'],
    ['{a:1}', 'Missing a name for object member. at 1'],
    ['{"a" 1}', 'Missing a colon after a name of object member. at 5'],
    ['{"a":tru}', 'Invalid value. at 8'],
    ['{}x', 'The document root must not be followed by other values. at 2'],
    ['["a', 'Missing a closing quotation mark in string. at 1'],
    ['["\\x"]', 'Invalid escape character in string. at 2'],
    ['["\\u12g4"]', 'Incorrect hex digit after \\u escape in string. at 2'],
    ['["\\ud800"]', 'The surrogate pair in string is invalid. at 2'],
    ['["\\udc00"]', 'The surrogate pair in string is invalid. at 2'],
    ['["a\nb"]', 'Invalid encoding in string. at 3'],
    ['[1.]', 'Miss fraction part in number. at 3'],
    ['[1e]', 'Miss exponent in number. at 3'],
    ['[01]', 'Missing a comma or ] after an array element. at 2'],
    ['[1e999]', 'Number too big to be stored in double. at 1'],
    ['[NaN,1e999]', 'Number too big to be stored in double. at 5'],
    ['["ü" 1]', 'Missing a comma or ] after an array element. at 6'],
    ['[+1]', 'Invalid value. at 1'],
    ['[NaNx]', 'Missing a comma or ] after an array element. at 4'],
  ])('refuses %j as Triton does', (text, message) => {
    expect(failure(text)).toBe(`INTERNAL failed to parse the request JSON buffer: ${message}`);
  });

  it('refuses bytes that are no UTF-8, and takes the replacement character itself', () => {
    expect(failure(Uint8Array.of(0x5b, 0x22, 0xff, 0x22, 0x5d))).toBe(
      'INTERNAL failed to parse the request JSON buffer: Invalid encoding in string. at 2',
    );
    expect(parse('["\uFFFD"]')).toEqual(['\uFFFD']);
  });

  it('reads surrogate pairs', () => {
    expect(parse('["\\ud83d\\ude00"]')).toEqual(['😀']);
  });

  const nested = (depth: number, open = '[', close = ']'): string => open.repeat(depth) + close.repeat(depth);

  it('takes data of 100 levels inside an input, and no more', () => {
    const withData = (data: string): string => `{"inputs":[{"data":${data}}]}`;
    expect(failure(withData(nested(100)))).toBe('none');
    expect(failure(withData(nested(101)))).toBe('INVALID_ARGUMENT JSON nesting depth exceeds maximum allowed limit (100)');
  });

  it.each([
    ['objects', '{"a":'.repeat(200)],
    ['arrays with values', '[1,'.repeat(200)],
    ['unclosed arrays', '['.repeat(100_000)],
  ])('refuses deep %s before it parses them', (_name, text) => {
    expect(failure(text)).toBe('INVALID_ARGUMENT JSON nesting depth exceeds maximum allowed limit (100)');
  });

  it('does not count brackets in strings, nor those that are closed', () => {
    expect(parse(`["${'['.repeat(500)}\\"${'['.repeat(500)}"]`)).toHaveLength(1);
    expect(parse(`[${'[1],'.repeat(500)}[]]`)).toHaveLength(501);
  });
});

describe('JsonDocument', () => {
  it('tells integers from fractions on demand', () => {
    const document = parseDocument(Buffer.from('{"a":[1,1.0,1e0,NaN,9007199254740993],"b":1}'));
    expect(document.hasFractions).toBe(true);
    expect(document.exactRoot).toEqual({ a: [1n, 1, 1, Number.NaN, 9007199254740993n], b: 1n });
    expect(parseDocument(Buffer.from('{"a":[1,2],"b":-3}')).hasFractions).toBe(false);
  });

  it.each([
    ['{"parameters":{"p":1.0},"data":[1]}', true],
    ['{"parameters":{"p": -1e3}}', true],
    ['{"shape":[1,2.0]}', true],
    ['{"shape":[1,2],"data":[1.0,2.5]}', false],
    ['{"name":"v1.0","data":[1.5]}', false],
  ])('looks for fractions outside data in %s', (text, hasThem) => {
    expect(parseDocument(Buffer.from(text)).hasFractionMembers).toBe(hasThem);
  });
});
