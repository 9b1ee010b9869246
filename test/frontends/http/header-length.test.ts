import { describe, expect, it } from 'vitest';
import { checkHeaderLength, parseHeaderLength } from '../../../src/frontends/http/header-length.ts';

describe('parseHeaderLength', () => {
  it('reads integers, and nothing from nothing', () => {
    expect([undefined, '0', ' 12 ', '-3'].map((value) => parseHeaderLength(value))).toEqual([undefined, 0, 12, -3]);
  });

  it.each(['', 'abc', '1.5', '12abc'])('refuses %j', (text) => {
    expect(() => parseHeaderLength(text)).toThrow(`Unable to parse Inference-Header-Content-Length, got: ${text}`);
  });

  it.each(['2147483648', '-2147483649', '99999999999999999999'])('refuses %s as out of range', (text) => {
    expect(() => parseHeaderLength(text)).toThrow(
      `Unable to parse Inference-Header-Content-Length, value is out of range [ -2147483648, 2147483647 ], got: ${text}`,
    );
  });
});

describe('checkHeaderLength', () => {
  it('takes what fits the body', () => {
    expect(() => checkHeaderLength(5, 5)).not.toThrow();
    expect(() => checkHeaderLength(6, 5)).toThrow('inference header size should be in range (0, 5), got: 6');
    expect(() => checkHeaderLength(-1, 5)).toThrow('inference header size should be in range (0, 5), got: -1');
  });
});
