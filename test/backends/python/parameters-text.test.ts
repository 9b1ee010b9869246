import { expect, it } from 'vitest';
import { parametersText, parseParameters } from '../../../src/backends/python/parameters-text.ts';
import type { ParameterValue } from '../../../src/streams/inference/parameters.ts';

it('carries parameters both ways, 64-bit integers in full', () => {
  const parameters = new Map<string, ParameterValue>([
    ['text', 'a"\n'],
    ['yes', true],
    ['least', -(2n ** 63n)],
    ['half', 0.5],
  ]);
  expect(parametersText(parameters)).toBe('{"text":"a\\"\\n","yes":true,"least":-9223372036854775808,"half":0.5}');
  expect(parseParameters(parametersText(parameters))).toEqual(parameters);
  expect([parametersText(new Map()), parseParameters('').size]).toEqual(['', 0]);
});
