import type { Subscriber, Subscription } from 'rxjs';
import type { ErrorReason } from '../../src/streams/inference/error.ts';
import type { InferResponse } from '../../src/streams/inference/response.ts';
import { contents } from './cache-contents.ts';

export interface CacheSetting {
  readonly sizeBytes: number;
  /** Bytes of each answer. */
  readonly answerBytes: number;
  /** Requests that may wait for the run of another. */
  readonly limit: number;
  readonly decoupled: boolean;
  /** Whether the cache answers at once, or when a step says so. */
  readonly fetches: boolean;
}

/** What a caller does when an answer or its end comes to it; one who drives makes the first run that is at work answer. */
export type Habit = 'listens' | 'leaves' | 'asks again' | 'cancels the next' | 'drives';

export type End = 'complete' | 'cancelled' | 'too many' | ErrorReason;

export interface Asked {
  readonly n: number;
  readonly content: number;
  readonly load: number;
  readonly habit: Habit;
  /** The number of the run and the place of each answer that came. */
  readonly received: (readonly [run: number, place: number])[];
  ends: number;
  end: End | undefined;
  caller: Subscription | undefined;
}

export interface Run {
  readonly n: number;
  readonly content: number;
  readonly load: number;
  readonly caller: Subscriber<InferResponse>;
  answers: number;
  /** How the model ended it; undefined while it is at work. */
  end: 'complete' | 'cancelled' | ErrorReason | undefined;
}

/** More than a world ever gives. */
export const mostAnswers = 200;

/** The number of the first content that equals it. */
export const first = (content: number): number => contents[content]?.same ?? content;

/** Bytes that tell which answer it is of which run, for which content under which load. */
export const stamp = (run: Run, size: number): Buffer => {
  const bytes = Buffer.alloc(Math.max(8, size));
  bytes.writeUInt16LE(run.n, 0);
  bytes.writeUInt16LE(run.answers, 2);
  bytes.writeUInt16LE(run.content, 4);
  bytes.writeUInt16LE(run.load, 6);
  return bytes;
};
