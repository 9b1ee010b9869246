import type { WireParameter } from './wire-parameters.ts';
import type { WireError } from './worker-protocol.ts';

/**
 * How a batch lies in a slot's inputs: first 8-byte words, doubles unless said otherwise, then bytes.
 *
 *     requests, marks of each request (an int32), tensors of the whole batch, requests
 *
 * A tensor is `start, byteLength, rank, sizes…` with `start` in bytes, or −1 alone where it is absent; in the order of `ModelPorts`. A request is the
 * fields below and its tensors.
 */
export const firstMark = 1;

export const requestFields = {
  /** Words of the request, this one included. */
  length: 0,
  flags: 1,
  rows: 2,
  /** One bit for each wanted output; 0 for all. */
  wanted: 3,
  /** A bigint of 64 bits. */
  sequenceId: 4,
  idStart: 5,
  idLength: 6,
  /** JSON of `RequestExtras`; length 0 for none. */
  extrasStart: 7,
  extrasLength: 8,
} as const;

export const requestWords = 9;

export const requestFlags = { start: 1, end: 2 } as const;

/** Outputs that a double has bits for; of a model with more, all are wanted always. */
export const maskedOutputs = 52;

/** What few requests have. */
export interface RequestExtras {
  readonly parameters: readonly WireParameter[];
  readonly sequenceId: string;
  readonly priority: string;
  readonly timeoutMicroseconds: string;
}

/** An answer in a slot's words of outputs: these fields, then its outputs as `index, area, start, byteLength, rank, sizes…`. */
export const answerFields = {
  /** Words of the answer, this one included. */
  length: 0,
  /** The request that it answers. */
  of: 1,
  flags: 2,
  outputs: 3,
  /** JSON of `AnswerExtras`: where, as for an output; length 0 for none. */
  extrasArea: 4,
  extrasStart: 5,
  extrasLength: 6,
} as const;

export const answerWords = 7;

export const outputWords = 5;

export const answerFlags = { isLast: 1, isRescheduled: 2 } as const;

/** What few answers have. */
export interface AnswerExtras {
  readonly parameters: readonly WireParameter[];
  readonly error: WireError | undefined;
}

/** A batch that is over has its answers from here on, and how many in word 0. */
export const firstAnswer = 1;

/** Memories of a slot: its inputs, the words that tell of answers, and the bytes of outputs. Others follow while those are too small for a batch. */
export const areas = { inputs: 0, words: 1, outputs: 2 } as const;
