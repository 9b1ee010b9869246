import { codeWords } from '../streams/inference/code-words.ts';
import type { InferError } from '../streams/inference/error.ts';

/** `Invalid argument: …`, for the index and the log. */
export const statusText = ({ code, message }: InferError): string => `${codeWords[code]}: ${message}`;

/** The message of a `statusText`. */
export const withoutCode = (text: string): string => {
  const word = Object.values(codeWords).find((each) => text.startsWith(`${each}: `));
  return word === undefined ? text : text.slice(word.length + 2);
};
