import { describe, expect, it } from 'vitest';
import { compileHeaderPattern } from '../../../src/frontends/http/header-pattern.ts';

const matches = (pattern: string, name: string): boolean | undefined => compileHeaderPattern(pattern)?.(name);

describe('compileHeaderPattern', () => {
  it('forwards nothing without a pattern', () => {
    expect(compileHeaderPattern('')).toBeUndefined();
  });

  it.each([
    ['MY_HEADER.*', 'my_header_x', true],
    ['my_header', 'X-My_Header-2', true],
    ['^my_header$', 'x-my_header', false],
    ['(?-i)MY_HEADER', 'my_header', false],
    ['(?-i)my_header', 'my_header', true],
    ['a|b', 'B', true],
  ])('%s and %s: %s', (pattern, name, isFound) => {
    expect(matches(pattern, name)).toBe(isFound);
  });

  it('refuses a pattern that is none', () => {
    expect(() => compileHeaderPattern('(')).toThrow("Invalid regex pattern '('");
  });

  it('needs no long time for a pattern that backtracks in other engines', () => {
    expect(matches('^(a+)+$', `${'a'.repeat(5000)}!`)).toBe(false);
  });
});
