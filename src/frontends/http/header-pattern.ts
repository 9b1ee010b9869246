import { RE2JS } from 're2js';
import { InferError, toInferError } from '../../streams/inference/error.ts';

/** Whether a request header of this name, as it was received, becomes a parameter. */
export type HeaderPattern = (name: string) => boolean;

/** Clients choose header names, so only so many verdicts are kept. */
const mostVerdicts = 1000;

/**
 * Compiles a RE2 pattern as Triton does: found anywhere in the name, letter case ignored unless the pattern says `(?-i)`. Undefined for `''`: nothing
 * is forwarded.
 *
 * @throws InferError INVALID_ARGUMENT for what is no RE2 pattern
 */
export const compileHeaderPattern = (pattern: string): HeaderPattern | undefined => {
  if (pattern === '') return undefined;
  const compiled = compile(pattern);
  const verdicts = new Map<string, boolean>();
  return (name) => {
    const known = verdicts.get(name);
    if (known !== undefined) return known;
    const isFound = compiled.matcher(name).find();
    if (verdicts.size < mostVerdicts) verdicts.set(name, isFound);
    return isFound;
  };
};

const compile = (pattern: string): RE2JS => {
  try {
    return RE2JS.compile(`(?i)${pattern}`);
  } catch (cause) {
    throw new InferError('INVALID_ARGUMENT', `Invalid regex pattern '${pattern}': ${toInferError(cause).message}`, { cause });
  }
};
