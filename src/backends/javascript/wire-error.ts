import { inspect, types } from 'node:util';
import { codeWords } from '../../streams/inference/code-words.ts';
import { type ErrorCode, InferError } from '../../streams/inference/error.ts';
import { ModelError } from './model-module.ts';
import type { WireError } from './worker-protocol.ts';

/** Characters of a message, and of what the log says of it. */
const longestText = 16_384;

const cut = (text: string): string => (text.length > longestText ? `${text.slice(0, longestText)}…` : text);

/** What a model throws may be anything, and may throw itself when it is looked at. */
const guarded = <T>(look: () => T, otherwise: T): T => {
  try {
    return look();
  } catch {
    return otherwise;
  }
};

const isError = (value: unknown): value is Error => value instanceof Error || types.isNativeError(value);

/** A package may bring a copy of the class along. */
const isForClients = (error: unknown): error is ModelError | InferError =>
  error instanceof ModelError || error instanceof InferError || (isError(error) && error.name === 'ModelError');

/** A value in words: text as it is, anything else as the console shows it. */
export const readable = (value: unknown): string =>
  guarded(() => (typeof value === 'string' ? value : inspect(value)), 'something that cannot be shown');

/** `TypeError: x is not a function`; of what is no error, its text. */
export const textOf = (error: unknown): string =>
  cut(guarded(() => (isError(error) ? `${error.name}: ${error.message}` : readable(error)), 'an error that cannot be shown'));

/** For the log: with its stack and what caused it. `''` for an error that is for clients, and for one that only passes such a one on. */
export const detailOf = (error: unknown): string =>
  guarded(() => {
    if (!isError(error)) return '';
    if (!isForClients(error)) return cut(inspect(error));
    // What a client can bring about as often as it likes does not fill the log.
    const isOurs = error.code === 'INTERNAL' || error.code === 'UNKNOWN';
    const cause = isOurs ? detailOf(error.cause) : '';
    return cause === '' || cause.includes(error.message) ? cause : cut(`${error.message}: ${cause}`);
  }, '');

const isCode = (code: unknown): code is ErrorCode => typeof code === 'string' && Object.hasOwn(codeWords, code);

/** A ModelError's own code and message, an InferError's too; for anything else `otherwise`. One that was given a code that there is not is INTERNAL. */
export const wireErrorOf = (error: unknown, otherwise: (text: string) => WireError): WireError => {
  const own = guarded((): WireError | undefined => {
    if (!isForClients(error)) return undefined;
    return { code: isCode(error.code) ? error.code : 'INTERNAL', message: cut(String(error.message)) };
  }, undefined);
  return own ?? otherwise(textOf(error));
};

export const toModelError = ({ code, message }: WireError): ModelError => new ModelError(message, code);
