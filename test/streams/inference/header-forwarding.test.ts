import { describe, expect, it } from 'vitest';
import { InferError } from '../../../src/streams/inference/error.ts';
import { compileHeaderPattern, forwardHeaders } from '../../../src/streams/inference/header-forwarding.ts';
import { noParameters } from '../../../src/streams/inference/parameters.ts';

describe('compileHeaderPattern', () => {
  it.each([
    ['my', 'x-MY-header', true],
    ['^my', 'x-my-header', false],
    ['my_.*', 'my_', true],
    ['(?-i)My', 'my', false],
    ['(?-i)My', 'My', true],
  ])('%s on %s', (pattern, name, isFound) => {
    const isForwarded = compileHeaderPattern(pattern);
    expect(isForwarded?.(name)).toBe(isFound);
    // From memory, the second time.
    expect(isForwarded?.(name)).toBe(isFound);
  });

  it('has none for an empty pattern, and refuses what is no pattern', () => {
    expect(compileHeaderPattern('')).toBeUndefined();
    expect(() => compileHeaderPattern('(')).toThrow(InferError);
  });
});

describe('forwardHeaders', () => {
  it('adds what matches, over a parameter of the same name', () => {
    const parameters = new Map([['a', 1n]]);
    const headers = [['a', 'x'] as const, ['b', 'y'] as const, ['a', 'z'] as const];
    expect(forwardHeaders((name) => name === 'a', headers, parameters)).toEqual(new Map([['a', 'z']]));
    expect(forwardHeaders(() => false, headers, parameters)).toBe(parameters);
  });

  it.each(['sequence_id', 'sequence_start', 'sequence_end', 'priority', 'timeout', 'headers', 'binary_data_output', 'triton_x'])(
    'refuses %s, and only when it matches',
    (name) => {
      expect(() => forwardHeaders(() => true, [[name, '']], noParameters)).toThrow(
        new InferError('INVALID_ARGUMENT', `Header '${name}' is reserved for Triton usage and cannot be forwarded.`),
      );
      expect(forwardHeaders(() => false, [[name, '']], noParameters).size).toBe(0);
      const upper = name.toUpperCase();
      expect(forwardHeaders(() => true, [[upper, '']], noParameters).has(upper)).toBe(true);
    },
  );
});
