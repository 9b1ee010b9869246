import type { FailureReason } from './error.ts';

/** What happened to requests, for statistics, metrics and traces to fold over. Durations are fractional milliseconds. */
export type InferenceEvent = RequestEnded | BatchExecuted | CacheAnswered | CacheMissed | ResponseMade;

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

/** A request was answered from the cache; it counts as a success, and not as an execution. */
export interface CacheAnswered {
  readonly kind: 'cache-answered';
  readonly model: string;
  readonly version: string;
  /** From its arrival to the look into the cache. */
  readonly queueMs: number;
  readonly lookupMs: number;
}

/** A request whose answer was not in the cache, once it has been put there or has failed. */
export interface CacheMissed {
  readonly kind: 'cache-missed';
  readonly model: string;
  readonly version: string;
  readonly lookupMs: number;
  readonly insertMs: number;
}

/** One answer of a decoupled model, or what came in its place. */
export interface ResponseMade {
  readonly kind: 'response-made';
  readonly model: string;
  readonly version: string;
  /** 0 for the first answer to its request. */
  readonly index: number;
  /** `empty` is one without outputs, such as the mere end; `cancel` means that nobody waited for it any more. */
  readonly outcome: 'success' | 'fail' | 'empty' | 'cancel';
  /** From the end of the one before it, or of the inputs, until the model gave it. */
  readonly computeInferMs: number;
  /** Until the caller had taken it; 0 for one that it did not get. */
  readonly computeOutputMs: number;
}

/** Takes events; never throws and never waits. */
export type EventSink = (event: InferenceEvent) => void;
