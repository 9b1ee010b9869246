import { describe, expect, it } from 'vitest';
import { parseVersion } from '../../../src/frontends/grpc/parse-version.ts';

describe('parseVersion', () => {
  it.each([
    ['', ''],
    ['1', '1'],
    ['9223372036854775807', '9223372036854775807'],
    ['007', '7'],
    ['+3', '3'],
    [' \t12', '12'],
    ['1abc', '1'],
    ['0', '0'],
    ['-0', '0'],
  ])('reads %o as %o', (text, version) => {
    expect(parseVersion(text)).toBe(version);
  });

  it.each(['x', ' ', '-', '+', '--1', '9223372036854775808', '-9223372036854775809'])('refuses %o', (text) => {
    expect(() => parseVersion(text)).toThrow(
      `failed to get model version from specified version string '${text}' (details: stol), version should be an integral value > 0`,
    );
  });

  it.each(['-1', '-9223372036854775808', ' -2x'])('refuses %o as negative', (text) => {
    expect(() => parseVersion(text)).toThrow(`invalid model version specified '${text}' , version should be an integral value > 0`);
  });
});
