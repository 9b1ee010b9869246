import { InferError } from './error.ts';
import type { Parameters, ParameterValue } from './parameters.ts';

/** Parameters that the server acts on: a header of such a name would speak in its stead. */
const reserved = new Set(['sequence_id', 'sequence_start', 'sequence_end', 'priority', 'timeout', 'headers', 'binary_data_output']);
const reservedPrefix = 'triton_';

const leadingCaseSwitch = /^\(\?(-?)i\)/;

/**
 * The pattern of `--http-header-forward-pattern` and `--grpc-header-forward-pattern`: it may match anywhere in a header's name, whose case does not
 * matter unless the pattern begins with `(?-i)`. Undefined for `''`, which forwards nothing.
 *
 * @throws InferError INVALID_ARGUMENT when it is no regular expression
 */
export const headerPattern = (pattern: string): RegExp | undefined => {
  if (pattern === '') return undefined;
  const minds = leadingCaseSwitch.exec(pattern)?.[1] === '-';
  try {
    return new RegExp(pattern.replace(leadingCaseSwitch, ''), minds ? '' : 'i');
  } catch (cause) {
    throw new InferError('INVALID_ARGUMENT', `invalid header forward pattern '${pattern}'`, { cause });
  }
};

/**
 * A request's parameters and, as strings, the headers whose names match. A header wins over a parameter of its name.
 *
 * @throws InferError INVALID_ARGUMENT for a matching header of a reserved name
 */
export const forwardHeaders = (
  pattern: RegExp | undefined,
  headers: Iterable<readonly [name: string, value: string]>,
  parameters: Parameters,
): Parameters => {
  if (pattern === undefined) return parameters;
  let forwarded: Map<string, ParameterValue> | undefined;
  for (const [name, value] of headers) {
    if (!pattern.test(name)) continue;
    if (reserved.has(name) || name.startsWith(reservedPrefix)) {
      throw new InferError('INVALID_ARGUMENT', `Header '${name}' is reserved for Triton usage and cannot be forwarded.`);
    }
    forwarded ??= new Map(parameters);
    forwarded.set(name, value);
  }
  return forwarded ?? parameters;
};
