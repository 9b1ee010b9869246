import { codeWords } from '../streams/inference/code-words.ts';
import type { InferError } from '../streams/inference/error.ts';

/** `Internal - failed to load all models`, as the command's log has it. */
export const describeError = ({ code, message }: InferError): string => `${codeWords[code]} - ${message}`;
