import type { FailureReason } from './error.ts';

/** What happened to requests, for statistics, metrics and traces to fold over. Durations are fractional milliseconds. */
export type InferenceEvent = RequestEnded | BatchExecuted;

export interface RequestEnded {
  readonly kind: 'request-ended';
  readonly model: string;
  readonly version: string;
  /** Undefined for success. */
  readonly failure: FailureReason | undefined;
  /** From arrival at the model to the end of its last answer. */
  readonly durationMs: number;
}

/** One execution with at least one request that succeeded. */
export interface BatchExecuted {
  readonly kind: 'batch-executed';
  readonly model: string;
  readonly version: string;
  /** Rows of the whole batch. */
  readonly rows: number;
  /** Requests that succeeded, and their rows. */
  readonly succeeded: number;
  readonly succeededRows: number;
  /** Sum of what these waited in the queue. */
  readonly queueMs: number;
  readonly computeInputMs: number;
  readonly computeInferMs: number;
  readonly computeOutputMs: number;
  /** Milliseconds since 1970 at its end. */
  readonly endedAtMs: number;
}

/** Takes events; never throws and never waits. */
export type EventSink = (event: InferenceEvent) => void;
