import type { CustomMetricKind } from '../../streams/inference/custom-metrics.ts';
import type { ErrorCode } from '../../streams/inference/error.ts';
import type { InstanceKind, ModelConfigDocument } from '../../streams/inference/model-spec.ts';
import type { ModelPorts } from './model-ports.ts';
import type { PackedTensor } from './packed-tensors.ts';
import type { WireParameter } from './wire-parameters.ts';

/** The data with which a worker that runs a model starts. */
export interface WorkerStart {
  readonly modelName: string;
  readonly modelVersion: string;
  readonly config: ModelConfigDocument;
  readonly parameters: ReadonlyMap<string, string>;
  readonly instance: { readonly name: string; readonly kind: InstanceKind; readonly device: number };
  readonly modelDirectory: string;
  readonly versionDirectory: string;
  readonly modelFile: string;
  readonly ports: ModelPorts;
  /** Executions that may be under way at once. */
  readonly concurrency: number;
  /** What must be taken from `process.hrtime` in milliseconds for the main thread's `performance.now()`; undefined where nobody asks when a batch began. */
  readonly clockOffsetMs: number | undefined;
  /** Counts of lines of the log: see `LogLines`. */
  readonly logMarks: SharedArrayBuffer;
  /** Counts of messages with changes of metrics: see `WorkerMetrics`. */
  readonly metricMarks: SharedArrayBuffer;
  /** The rings of numbers to and from the worker. */
  readonly toWorker: SharedArrayBuffer;
  readonly fromWorker: SharedArrayBuffer;
}

/** The data with which a worker that completes a config starts. */
export interface CompleteStart extends Pick<WorkerStart, 'modelDirectory' | 'versionDirectory' | 'modelFile' | 'logMarks'> {
  /** A copy of its own. */
  readonly config: Record<string, unknown>;
}

export type CompleteAnswer = { readonly kind: 'completed'; readonly config: ModelConfigDocument } | NotLoaded | LogLine;

/** Beside these, numbers: `slotMessage` of a slot. */
export type ToWorker =
  /** Memories of a slot: of a new one both, and later inputs that have been made anew. */
  | { readonly kind: 'slot'; readonly slot: number; readonly state: SharedArrayBuffer | undefined; readonly inputs: SharedArrayBuffer }
  /** The caller of request `of` has gone; −1 for those of all. The marks in shared memory say it already. */
  | { readonly kind: 'cancelled'; readonly slot: number; readonly of: number }
  | CallAnswered
  /** No other answer comes; only now may the call's number be used again. */
  | { readonly kind: 'call-ended'; readonly call: number; readonly error: WireError | undefined }
  | Reply
  | { readonly kind: 'unload' };

/** Beside these, numbers: `answerMessage` of a slot. */
export type FromWorker =
  | { readonly kind: 'ready' }
  | NotLoaded
  /** A memory of a slot has been made anew: one of `areas`, or one beyond them. With that of outputs those beyond are gone. */
  | { readonly kind: 'outputs'; readonly slot: number; readonly area: number; readonly memory: SharedArrayBuffer }
  /** A batch has failed as a whole. `detail` is for the log. */
  | { readonly kind: 'failed'; readonly slot: number; readonly error: WireError; readonly detail: string }
  | LogLine
  | CallMade
  | { readonly kind: 'call-cancelled'; readonly call: number }
  /** So many answers of a call have been read, of so many bytes. */
  | { readonly kind: 'call-read'; readonly call: number; readonly count: number; readonly bytes: number }
  | { readonly kind: 'ask-ready'; readonly question: number; readonly model: string; readonly version: string }
  | MetricMade
  | { readonly kind: 'ask-metric'; readonly question: number; readonly metric: number }
  | { readonly kind: 'metric-updates'; readonly updates: readonly MetricUpdate[] }
  /** Nothing runs any more, and `unload` has ended. */
  | { readonly kind: 'unloaded' };

const fromWorkerKinds: Readonly<Record<FromWorker['kind'], true>> = {
  ready: true,
  'not-loaded': true,
  outputs: true,
  failed: true,
  log: true,
  call: true,
  'call-cancelled': true,
  'call-read': true,
  'ask-ready': true,
  'make-metric': true,
  'ask-metric': true,
  'metric-updates': true,
  unloaded: true,
};

/** Packages that a model imports can post to the thread's parent too. */
export const isFromWorker = (message: unknown): message is FromWorker =>
  typeof message === 'object' &&
  message !== null &&
  'kind' in message &&
  typeof message.kind === 'string' &&
  Object.hasOwn(fromWorkerKinds, message.kind);

export interface Reply {
  readonly kind: 'reply';
  readonly question: number;
  readonly value: boolean | number;
  readonly error: WireError | undefined;
}

export interface NotLoaded {
  readonly kind: 'not-loaded';
  readonly error: WireError;
}

export interface WireError {
  readonly code: ErrorCode;
  readonly message: string;
}

export interface LogLine {
  readonly kind: 'log';
  readonly severity: 'error' | 'warning' | 'info' | number;
  readonly text: string;
}

export interface CallMade {
  readonly kind: 'call';
  readonly call: number;
  readonly slot: number;
  /** The request that it is made for; −1 for the whole batch. */
  readonly of: number;
  /** Whether more than one answer is wanted. */
  readonly answers: 'one' | 'many';
  readonly model: string;
  readonly version: string;
  readonly id: string;
  readonly inputs: readonly PackedTensor[];
  readonly memory: ArrayBuffer;
  readonly outputs: readonly string[];
  readonly parameters: readonly WireParameter[];
  readonly sequenceId: bigint | string;
  readonly sequenceStart: boolean;
  readonly sequenceEnd: boolean;
  readonly priority: bigint;
  readonly timeoutMicroseconds: bigint;
}

export interface CallAnswered {
  readonly kind: 'call-answered';
  readonly call: number;
  readonly modelName: string;
  readonly modelVersion: string;
  readonly id: string;
  readonly parameters: readonly WireParameter[];
  readonly outputs: readonly PackedTensor[];
  readonly memory: ArrayBuffer;
  readonly isLast: boolean;
  readonly error: WireError | undefined;
}

export interface MetricMade {
  readonly kind: 'make-metric';
  readonly question: number;
  readonly name: string;
  readonly description: string;
  readonly metric: CustomMetricKind;
  readonly labels: Readonly<Record<string, string>>;
  readonly buckets: readonly number[] | undefined;
}

export type MetricUpdate = readonly [metric: number, what: 'increment' | 'set' | 'observe', value: number];

/** Answers of one batch that may wait to be read. */
export const mostUnread = 64;

/** What a number to the worker says: a batch lies in the slot, or all that was emitted of one has been read. */
export const slotMessages = { begin: 0, read: 1 } as const;

export const slotMessage = (slot: number, kind: number): number => slot * 2 + kind;

/** What a number from the worker says: the batch is over, one of many answers lies at `position`, or the instance can take another batch. */
export const answerMessages = { done: 0, answer: 1, released: 2 } as const;

/** Slots that the numbers have room for. */
export const highestSlots = 256;

export const answerMessage = (slot: number, kind: number, position = 0): number => (position * highestSlots + slot) * 4 + kind;
