import { InferError } from '../../streams/inference/error.ts';
import { noParameters, type Parameters, type ParameterValue } from '../../streams/inference/parameters.ts';
import type { ParameterKind, WireParameter, WireParameters } from './wire/infer-parameter.ts';

/** The parameters of a request, taken apart. */
export interface RequestParameters {
  sequenceId: bigint | string;
  sequenceStart: boolean;
  sequenceEnd: boolean;
  priority: bigint;
  timeoutMicroseconds: bigint;
  /** A decoupled model's end without a tensor is told in a message of its own. */
  wantsEmptyFinal: boolean;
  /** The rest, for the model. */
  others: Parameters;
}

const longestSequenceId = 128;
const reservedPrefix = 'triton_';

const invalid = (message: string): InferError => new InferError('INVALID_ARGUMENT', message);

const wrongKind = (key: string, expected: string): InferError =>
  invalid(`invalid value type for '${key}' parameter, expected ${expected}.`);

const valueOfKind = (key: string, parameter: WireParameter, kind: ParameterKind): ParameterValue => {
  if (parameter.kind !== kind || parameter.value === undefined) throw wrongKind(key, kind);
  return parameter.value;
};

const boolOf = (key: string, parameter: WireParameter): boolean => valueOfKind(key, parameter, 'bool_param') === true;

const bigintOf = (value: ParameterValue | undefined): bigint => (typeof value === 'bigint' ? value : 0n);

const sequenceIdOf = ({ kind, value }: WireParameter): bigint | string => {
  if (kind === 'int64_param') return BigInt.asUintN(64, bigintOf(value));
  if (kind !== 'string_param' || typeof value !== 'string') throw wrongKind('sequence_id', 'int64_param or string_param');
  if (Buffer.byteLength(value) > longestSequenceId) {
    throw new InferError('UNIMPLEMENTED', `string correlation ID cannot be longer than ${longestSequenceId} characters`);
  }
  return value;
};

const priorityOf = ({ kind, value }: WireParameter): bigint => {
  if (kind !== 'int64_param' && kind !== 'uint64_param') throw wrongKind('priority', 'int64_param or uint64_param');
  const priority = bigintOf(value);
  if (priority < 0n) throw invalid("invalid value for 'priority', expected value >= 0.");
  return priority;
};

const otherValue = (key: string, { kind, value }: WireParameter): ParameterValue => {
  if (kind === 'uint64_param' || value === undefined) throw wrongKind(key, 'int64_param, bool_param, or string_param');
  return value;
};

/**
 * Sorts a request's parameters into those that the server acts on and those for the model.
 *
 * @throws InferError with Triton's texts for values of the wrong kind and for reserved keys
 */
export const parseParameters = (wire: WireParameters | undefined): RequestParameters => {
  const parsed: RequestParameters = {
    sequenceId: 0n,
    sequenceStart: false,
    sequenceEnd: false,
    priority: 0n,
    timeoutMicroseconds: 0n,
    wantsEmptyFinal: false,
    others: noParameters,
  };
  if (wire === undefined) return parsed;
  let others: Map<string, ParameterValue> | undefined;
  for (const [key, parameter] of wire) {
    if (key === 'sequence_id') parsed.sequenceId = sequenceIdOf(parameter);
    else if (key === 'sequence_start') parsed.sequenceStart = boolOf(key, parameter);
    else if (key === 'sequence_end') parsed.sequenceEnd = boolOf(key, parameter);
    else if (key === 'priority') parsed.priority = priorityOf(parameter);
    else if (key === 'timeout') parsed.timeoutMicroseconds = BigInt.asUintN(64, bigintOf(valueOfKind(key, parameter, 'int64_param')));
    else if (key === 'triton_enable_empty_final_response') parsed.wantsEmptyFinal = boolOf(key, parameter);
    else if (key.startsWith(reservedPrefix)) {
      throw invalid(
        "parameter keys starting with 'triton_' are reserved for Triton usage. Only the following keys starting with 'triton_' are allowed: triton_enable_empty_final_response",
      );
    } else {
      others ??= new Map();
      others.set(key, otherValue(key, parameter));
    }
  }
  if (others !== undefined) parsed.others = others;
  return parsed;
};
