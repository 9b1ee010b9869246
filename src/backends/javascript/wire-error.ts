import { codeWords } from '../../streams/inference/code-words.ts';
import { type ErrorCode, InferError } from '../../streams/inference/error.ts';
import { ModelError } from './model-module.ts';
import type { WireError } from './worker-protocol.ts';

/** `TypeError: x is not a function`; of what is no error, its text. */
export const textOf = (error: unknown): string => (error instanceof Error ? `${error.name}: ${error.message}` : String(error));

const isCode = (code: unknown): code is ErrorCode => typeof code === 'string' && Object.hasOwn(codeWords, code);

/** A ModelError's own code and message, an InferError's too; for anything else `otherwise`. One that was given a code that there is not is INTERNAL. */
export const wireErrorOf = (error: unknown, otherwise: (text: string) => WireError): WireError => {
  if (!(error instanceof ModelError) && !(error instanceof InferError)) return otherwise(textOf(error));
  return { code: isCode(error.code) ? error.code : 'INTERNAL', message: error.message };
};

export const toModelError = ({ code, message }: WireError): ModelError => new ModelError(message, code);
