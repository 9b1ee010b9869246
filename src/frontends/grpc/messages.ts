import { fileURLToPath } from 'node:url';
import protobuf from 'protobufjs';
import { InferError, toInferError } from '../../streams/inference/error.ts';

const protoDirectory = new URL('../../../proto/', import.meta.url);

const load = (file: string): protobuf.Root => {
  const root = new protobuf.Root().loadSync(fileURLToPath(new URL(file, protoDirectory)), { keepCase: true });
  root.resolveAll();
  return root;
};

const inference = load('grpc_service.proto');
const health = load('health.proto');

/** The services of `proto/`. */
export const inferenceService = inference.lookupService('inference.GRPCInferenceService');
export const healthService = health.lookupService('grpc.health.v1.Health');

/** The fields of a message by their names in `proto/`, and what each may be given as. */
export type MessageFields = Readonly<Record<string, unknown>>;

/**
 * Reads a message that is not worth a codec of its own; fields that are not there have their defaults.
 *
 * @throws InferError INTERNAL for bytes that are no such message
 */
export const decodeMessage = (type: protobuf.Type, bytes: Buffer): MessageFields => {
  try {
    return type.toObject(type.decode(bytes), { defaults: true, longs: String, enums: String });
  } catch (cause) {
    throw new InferError('INTERNAL', `failed to parse ${type.name}: ${toInferError(cause).message}`, { cause });
  }
};

/** Writes a message from plain fields: enums by name, 64-bit integers as number, bigint or decimal string, `bytes` as base64 or bytes. */
export const encodeMessage = (type: protobuf.Type, fields: MessageFields): Buffer =>
  Buffer.from(type.encode(type.fromObject(withoutBigints(fields))).finish());

const withoutBigints = (fields: MessageFields): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, withoutBigint(value)]));

const withoutBigint = (value: unknown): unknown => {
  if (typeof value === 'bigint') return value.toString();
  if (Array.isArray(value)) return value.map(withoutBigint);
  if (typeof value === 'object' && value !== null && !(value instanceof Uint8Array)) return withoutBigints(value as MessageFields);
  return value;
};
