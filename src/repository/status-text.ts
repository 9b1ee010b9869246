import { codeWords } from '../streams/inference/code-words.ts';
import type { InferError } from '../streams/inference/error.ts';

/** `Invalid argument: …`, for the index and the log. */
export const statusText = ({ code, message }: InferError): string => `${codeWords[code]}: ${message}`;
