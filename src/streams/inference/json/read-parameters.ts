import { InferError } from '../error.ts';
import { noParameters, type Parameters, type ParameterValue } from '../parameters.ts';
import {
  asBoolean,
  asString,
  asUnsigned,
  findMember,
  isJsonObject,
  type JsonObject,
  largestUint64,
  type ReadInteger,
  unreadable,
} from './json-members.ts';

/** What the request's `parameters` say, reserved names apart from the model's own. */
export interface RequestParameters {
  readonly sequenceId: bigint | string;
  readonly sequenceStart: boolean;
  readonly sequenceEnd: boolean;
  readonly priority: bigint;
  readonly timeoutMicroseconds: bigint;
  readonly isBinaryOutput: boolean;
  readonly parameters: Parameters;
}

const none: RequestParameters = {
  sequenceId: 0n,
  sequenceStart: false,
  sequenceEnd: false,
  priority: 0n,
  timeoutMicroseconds: 0n,
  isBinaryOutput: false,
  parameters: noParameters,
};

const reservedNames: ReadonlySet<string> = new Set([
  'sequence_id',
  'sequence_start',
  'sequence_end',
  'priority',
  'timeout',
  'headers',
  'binary_data_output',
]);

/** Names that no model may be given, neither in the body nor as a forwarded header. */
export const isReservedParameter = (name: string): boolean => reservedNames.has(name) || name.startsWith('triton_');

/** @throws InferError */
export const readParameters = (root: unknown, readInteger: ReadInteger): RequestParameters => {
  const members = findMember(root, 'parameters');
  if (members === undefined) return none;
  if (!isJsonObject(members)) throw unreadable('failed to get request params.', 'attempt to get members for non-object');
  return {
    sequenceId: readSequenceId(members.sequence_id, readInteger),
    sequenceStart: readFlag(members, 'sequence_start'),
    sequenceEnd: readFlag(members, 'sequence_end'),
    priority: readUnsigned(members, 'priority', readInteger),
    timeoutMicroseconds: readUnsigned(members, 'timeout', readInteger),
    isBinaryOutput: readFlag(members, 'binary_data_output'),
    parameters: readOwnParameters(members, readInteger),
  };
};

const readSequenceId = (value: unknown, readInteger: ReadInteger): bigint | string => {
  if (value === undefined) return 0n;
  const integer = readInteger(value);
  if (integer !== undefined && integer >= 0 && integer <= largestUint64) return BigInt(integer);
  const id = asString(value, 'sequence_id');
  if (Buffer.byteLength(id) > 128) throw new InferError('UNIMPLEMENTED', 'string correlation ID cannot be longer than 128 characters');
  return id;
};

const readFlag = (members: JsonObject, name: string): boolean => members[name] !== undefined && asBoolean(members[name], name);

const readUnsigned = (members: JsonObject, name: string, readInteger: ReadInteger): bigint =>
  members[name] === undefined ? 0n : BigInt(asUnsigned(members[name], readInteger, `Unable to parse '${name}'`));

const readOwnParameters = (members: JsonObject, readInteger: ReadInteger): Parameters => {
  let parameters: Map<string, ParameterValue> | undefined;
  for (const name of Object.keys(members)) {
    if (name.startsWith('triton_')) {
      throw new InferError(
        'INVALID_ARGUMENT',
        "parameter keys starting with 'triton_' are reserved for Triton usage and should not be specified.",
      );
    }
    if (name === 'headers') throw new InferError('INVALID_ARGUMENT', "parameter 'headers' is reserved and should not be specified.");
    if (reservedNames.has(name)) continue;
    parameters ??= new Map();
    parameters.set(name, readParameter(name, members[name], readInteger));
  }
  return parameters ?? noParameters;
};

const readParameter = (name: string, value: unknown, readInteger: ReadInteger): ParameterValue => {
  if (typeof value === 'string' || typeof value === 'boolean') return value;
  const integer = readInteger(value);
  // Past a signed 64-bit integer it is a double, as in Triton.
  if (integer !== undefined) return BigInt.asIntN(64, BigInt(integer)) === BigInt(integer) ? BigInt(integer) : Number(integer);
  if (typeof value === 'number') return value;
  throw new InferError('INVALID_ARGUMENT', `parameter '${name}' has invalid type. It should be either 'int', 'bool', or 'string'.`);
};
