import { findMember, isJsonObject } from '../../streams/inference/json/json-members.ts';
import type { JsonDocument } from '../../streams/inference/json/parse-document.ts';
import { parseDocument } from '../../streams/inference/json/parse-document.ts';
import type { Parts } from './frames.ts';
import { MessageError } from './message-error.ts';
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
  /** `''` for the newest. */
  readonly modelVersion: string;
  readonly document: JsonDocument;
}

/**
 * Reads what a message is and which request it is about.
 *
 * @throws MessageError; InferError for what is no JSON
 */
export const parseMessage = ({ buffer, jsonStart, jsonEnd }: Parts, target: StreamTarget): CancelMessage | InferMessage => {
  const document = parseDocument(buffer, jsonStart, jsonEnd);
  const { root } = document;
  if (!isJsonObject(root)) throw new MessageError('', 'INVALID_ARGUMENT', 'a message must be a JSON object');
  const cancelled = findMember(root, 'cancel');
  if (cancelled !== undefined) return { kind: 'cancel', id: cancelledId(cancelled) };
  const id = optionalString(root, 'id', '');
  const modelName = agreed(optionalString(root, 'model_name', id), target.modelName, 'model_name', id);
  const modelVersion = agreed(optionalString(root, 'model_version', id), target.modelVersion, 'model_version', id);
  if (modelName === '') {
    throw new MessageError(id, 'INVALID_ARGUMENT', `'model_name' is missing, and the path of the connection names no model`);
  }
  return { kind: 'infer', id, modelName, modelVersion, document };
};

const cancelledId = (value: unknown): string => {
  if (typeof value === 'string' && value !== '') return value;
  throw new MessageError('', 'INVALID_ARGUMENT', `'cancel' must be the id of a request`);
};

const optionalString = (root: unknown, name: string, id: string): string => {
  const value = findMember(root, name) ?? '';
  if (typeof value === 'string') return value;
  throw new MessageError(id, 'INVALID_ARGUMENT', `'${name}' must be a string`);
};

/** What the message and the path of its connection say together. */
const agreed = (fromMessage: string, fromPath: string, name: string, id: string): string => {
  if (fromMessage === '') return fromPath;
  if (fromPath === '' || fromMessage === fromPath) return fromMessage;
  throw new MessageError(id, 'INVALID_ARGUMENT', `'${name}' is '${fromMessage}', but the path of the connection says '${fromPath}'`);
};
