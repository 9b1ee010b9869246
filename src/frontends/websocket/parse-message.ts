import { InferError } from '../../streams/inference/error.ts';
import type { JsonDocument } from '../../streams/inference/json/parse-document.ts';
import { parseDocument } from '../../streams/inference/json/parse-document.ts';
import type { Parts } from './frames.ts';
import type { StreamTarget } from './stream-target.ts';

export interface CancelMessage {
  readonly kind: 'cancel';
  readonly id: string;
}

/** The envelope; the body is read once the model is known. */
export interface InferMessage {
  readonly kind: 'infer';
  readonly id: string;
  readonly modelName: string;
  readonly modelVersion: string;
  readonly document: JsonDocument;
}

export type Message = CancelMessage | InferMessage;

/** The message says which request it is, and something else about it is wrong. */
export class RefusedMessage extends InferError {
  readonly id: string;

  constructor(id: string, message: string) {
    super('INVALID_ARGUMENT', message);
    this.id = id;
  }
}

type Members = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Members => typeof value === 'object' && value !== null && !Array.isArray(value);

/** @throws RefusedMessage when the member is there and no string */
const stringOf = (members: Members, name: string, id: string): string => {
  const value = members[name];
  if (value === undefined) return '';
  if (typeof value !== 'string') throw new RefusedMessage(id, `'${name}' must be a string`);
  return value;
};

/** What the message and the path say together. */
const agreed = (fromMessage: string, fromPath: string, what: string, id: string): string => {
  if (fromPath === '' || fromMessage === '' || fromMessage === fromPath) return fromMessage === '' ? fromPath : fromMessage;
  throw new RefusedMessage(id, `${what} '${fromMessage}' differs from '${fromPath}' in the path of the connection`);
};

/**
 * Reads what a message is and which request it is about.
 *
 * @throws RefusedMessage when the id could be read; InferError when not even that
 */
export const parseMessage = ({ buffer, jsonStart, jsonEnd }: Parts, target: StreamTarget): Message => {
  const document = parseDocument(buffer, jsonStart, jsonEnd);
  const { root } = document;
  if (!isObject(root)) throw new InferError('INVALID_ARGUMENT', 'a message must be a JSON object');
  if (root['cancel'] !== undefined) {
    const cancelled = root['cancel'];
    if (typeof cancelled === 'string' && cancelled !== '') return { kind: 'cancel', id: cancelled };
    throw new InferError('INVALID_ARGUMENT', `'cancel' must be the id of a request`);
  }
  const id = stringOf(root, 'id', '');
  const modelName = agreed(stringOf(root, 'model_name', id), target.modelName, 'model name', id);
  if (modelName === '') throw new RefusedMessage(id, `'model_name' is missing, and the path of the connection names no model`);
  const modelVersion = agreed(stringOf(root, 'model_version', id), target.modelVersion, 'model version', id);
  return { kind: 'infer', id, modelName, modelVersion, document };
};

/**
 * Whether the inputs' `binary_data_size` make up exactly the bytes after the header. Where they do not the message as a whole cannot be read,
 * whatever its header says.
 */
export const sizesAddUp = ({ root }: JsonDocument, tensorBytes: number): boolean => {
  if (!isObject(root) || !Array.isArray(root['inputs'])) return tensorBytes === 0;
  let sum = 0;
  for (const input of root['inputs']) {
    const parameters: unknown = isObject(input) ? input['parameters'] : undefined;
    const size = isObject(parameters) ? parameters['binary_data_size'] : undefined;
    if (size !== undefined) sum += Number(size);
  }
  return sum === tensorBytes;
};
