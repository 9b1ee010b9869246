import type { InferError } from '../../../streams/inference/error.ts';

/** gRPC's status codes, by their names. */
export const statusCodes = {
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  RESOURCE_EXHAUSTED: 8,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
} as const;

/** How a call ends. */
export interface CallStatus {
  readonly code: (typeof statusCodes)[keyof typeof statusCodes];
  /** Well-formed. */
  readonly details: string;
}

/** A status travels percent-encoded in a header block, and clients refuse those beyond 8 KiB. */
const longestEncoded = 7 * 1024;
/** Of one UTF-16 unit: a character of three bytes. */
const largestEncoded = 9;

const cut = (text: string): string => {
  let encoded = 0;
  let end = 0;
  for (const character of text) {
    encoded += encodeURI(character).length;
    if (encoded > longestEncoded) return `${text.slice(0, end)}…`;
    end += character.length;
  }
  return text;
};

const details = (message: string): string => {
  const text = message.slice(0, longestEncoded + 1).toWellFormed();
  return text.length * largestEncoded <= longestEncoded ? text : cut(text);
};

export const okStatus: CallStatus = { code: statusCodes.OK, details: '' };

/** Messages go to the client as they are, causes never. */
export const toStatus = ({ code, message }: InferError): CallStatus => ({ code: statusCodes[code], details: details(message) });
