import type { ResourceLimits } from 'node:worker_threads';
import { InferError } from '../../streams/inference/error.ts';
import { highestSlots } from './worker-protocol.ts';

export interface ModelSettings {
  /** How long an execution, and how long a load, may last before its thread is ended; 0 for no limit. */
  readonly executionTimeoutMs: number;
  readonly loadTimeoutMs: number;
  /** Executions of one instance that may be under way at once. */
  readonly concurrency: number;
  readonly limits: ResourceLimits | undefined;
}

/** Slots that a worker may have beside those of its executions. */
export const spareSlots = 2;

/** With a few megabytes a thread cannot start, and takes the process with it. */
const smallestHeapMb = 16;

const longestMs = 2 ** 31 - 1;

/**
 * What a model's `parameters` say about its threads.
 *
 * @throws InferError INVALID_ARGUMENT for a value that cannot be
 */
export const modelSettings = (parameters: ReadonlyMap<string, string>): ModelSettings => {
  const number = (key: string, fallback: number, least: number, most: number): number => {
    const text = parameters.get(key);
    if (text === undefined) return fallback;
    if (!/^\d{1,10}$/.test(text)) throw new InferError('INVALID_ARGUMENT', `failed to convert ${key} '${text}' to integral number`);
    const value = Number(text);
    if (value >= least && value <= most) return value;
    throw new InferError('INVALID_ARGUMENT', `${key} must be from ${least} to ${most}, got ${text}`);
  };
  const memoryMb = number('max_memory_mb', 0, smallestHeapMb, 2 ** 20);
  return {
    executionTimeoutMs: number('execution_timeout_ms', 0, 0, longestMs),
    loadTimeoutMs: number('load_timeout_ms', 0, 0, longestMs),
    concurrency: number('concurrency', 32, 1, highestSlots - spareSlots),
    limits: memoryMb === 0 ? undefined : { maxOldGenerationSizeMb: memoryMb },
  };
};

export const loadTimeoutText = (limitMs: number): string => `loading took longer than load_timeout_ms (${limitMs})`;
