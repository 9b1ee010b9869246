import { RE2JS } from 're2js';
import { InferError, toInferError } from './error.ts';
import { isReservedParameter } from './json/read-parameters.ts';
import type { Parameters, ParameterValue } from './parameters.ts';

/** Whether a header of this name, as it was received, becomes a parameter. */
export type HeaderPattern = (name: string) => boolean;

/** Clients choose header names, so only so many verdicts are kept. */
const mostVerdicts = 1000;

const compile = (pattern: string): RE2JS => {
  try {
    return RE2JS.compile(`(?i)${pattern}`);
  } catch (cause) {
    throw new InferError('INVALID_ARGUMENT', `Invalid regex pattern '${pattern}': ${toInferError(cause).message}`, { cause });
  }
};

/**
 * Compiles a RE2 pattern of `--http-header-forward-pattern` or `--grpc-header-forward-pattern` as Triton does: found anywhere in the name, letter case
 * ignored unless the pattern says `(?-i)`. Undefined for `''`: nothing is forwarded.
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

/**
 * A request's parameters and, as strings, the headers that match. A header wins over a parameter of its name.
 *
 * @throws InferError INVALID_ARGUMENT for a matching header of a reserved name
 */
export const forwardHeaders = (
  isForwarded: HeaderPattern,
  headers: Iterable<readonly [name: string, value: string]>,
  parameters: Parameters,
): Parameters => {
  let forwarded: Map<string, ParameterValue> | undefined;
  for (const [name, value] of headers) {
    if (!isForwarded(name)) continue;
    if (isReservedParameter(name)) {
      throw new InferError('INVALID_ARGUMENT', `Header '${name}' is reserved for Triton usage and cannot be forwarded.`);
    }
    forwarded ??= new Map(parameters);
    forwarded.set(name, value);
  }
  return forwarded ?? parameters;
};
