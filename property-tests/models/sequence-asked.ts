import type { InferError } from '../../src/streams/inference/error.ts';
import type { SequenceStrategy } from '../../src/streams/inference/model-spec.ts';
import type { WatchedInstance } from './sequence-run.ts';
import type { States } from './sequence-states.ts';

export interface SequenceSetting {
  readonly strategy: SequenceStrategy;
  /** 0 for a model without batch dimension. */
  readonly maxBatchSize: number;
  readonly maxQueueSize: number;
  readonly instances: number;
  readonly capacity: number;
  readonly maxIdleMs: number;
  readonly ids: 'numbers' | 'texts';
  readonly controls: 'INT32' | 'FP32' | 'BOOL';
  readonly hasStates: boolean;
  readonly isIterative: boolean;
  readonly endsIdleWithStep: boolean;
}

/** How a request ended. `refused`: START is missing; `dropped`: one before it in its sequence was cancelled. */
export type End = 'answered' | 'failed' | 'refused' | 'full' | 'expired' | 'dropped' | 'stopped' | 'cancelled' | 'unknown';

/** What its caller does inside of the answer, or of the error. */
export type Reaction = 'nothing' | 'goes on' | 'cancels another' | 'starts again';

export interface Question {
  /** Which sequence; 0 for no id. */
  readonly key: number;
  readonly isStart: boolean;
  readonly isEnd: boolean;
  readonly width: number;
  /** 0 for none. */
  readonly timeoutMs: number;
  readonly reaction?: Reaction;
}

/** What should become of a request, and what did. */
export interface Asked {
  readonly n: number;
  readonly key: number;
  readonly id: bigint | string;
  readonly isStart: boolean;
  readonly isEnd: boolean;
  readonly width: number;
  readonly arrivedMs: number;
  /** Infinity for none. */
  readonly deadlineMs: number;
  readonly reaction: Reaction;
  holder: Holder | undefined;
  state: 'waiting' | 'running' | End;
  ends: number;
  message: string;
  /** One before it in its sequence was cancelled, its instance died, or its sequence expired: it must end. */
  isDoomed: boolean;
  /** From when it could have run, as far as its sequence is concerned. */
  readyMs: number;
  /** Of an iterative sequence: steps that have run, answers that came. */
  steps: number;
  /** Which one it was of all that have begun to run. */
  startedAs: number;
  cancel(): void;
}

/** From a START on an unknown id to its end: what holds one slot. */
export interface Holder {
  readonly n: number;
  readonly id: bigint | string;
  /** In order of arrival. */
  readonly waiting: Asked[];
  flight: Asked | undefined;
  /** Where it was seen to run. */
  seat: { readonly instance: WatchedInstance; readonly row: number } | undefined;
  /** The earliest and latest moment at which its last request may have been seen. */
  readonly seen: { earliestMs: number; latestMs: number };
  /** It has waited for a slot. */
  wasQueued: boolean;
  /** When it surely had a slot; Infinity before. */
  takenMs: number;
  /** Its id is free: END has come, or it is idle. */
  isClosed: boolean;
  isIdle: boolean;
  /** Whether the model will be told, or was, that it was idle. */
  idleStep: 'none' | 'due' | 'done';
  /** Sequences that were there when it came. */
  readonly before: readonly Holder[];
  /** Whether ends of other sequences may still be in its slot: then it leaves with them. */
  readonly behind: (() => boolean)[];
  states: States;
  /** The CORRID that its first step was told: for one without an id the server chooses it. */
  told: bigint | string | undefined;
}

/** The request that goes next, if the sequence may go on. */
export const frontOf = ({ waiting, flight }: Holder): Asked | undefined => {
  const [front] = waiting;
  return flight === undefined ? front : undefined;
};

/** It waits at the front of its sequence, or runs. */
export const isOnItsWay = (asked: Asked): boolean =>
  asked.holder?.flight === asked || (asked.state === 'waiting' && asked.holder?.waiting[0] === asked);

const ends: readonly (readonly [End, string, RegExp])[] = [
  ['refused', 'INVALID_ARGUMENT', /must specify the START flag on the first request of the sequence/],
  ['full', 'UNAVAILABLE', /Exceeds maximum queue size/],
  ['expired', 'UNAVAILABLE', /timeout of the corresponding sequence has been expired/],
  ['stopped', 'UNAVAILABLE', /Server is stopping, scheduler for model has stopped accepting/],
  ['dropped', 'CANCELLED', /^/],
];

export const endOf = ({ code, message, reason }: InferError): End => {
  if (reason === 'BACKEND') return 'failed';
  return ends.find(([, wanted, text]) => code === wanted && text.test(message))?.[0] ?? 'unknown';
};
