import type { Tensors } from '../tensors/tensor.ts';
import type { Parameters } from './parameters.ts';

/**
 * What a request asks for, in full: two requests with equal keys have equal answers. `head` is all of it but the elements of its inputs: model, version,
 * the content that was loaded, datatypes, shapes, parameters, requested outputs; the elements follow in the order that `head` tells.
 */
export interface CacheKey {
  /** SHA-256 of the whole, in hexadecimal. */
  readonly digest: string;
  /** The first 32 bits of `digest`. */
  readonly hash: number;
  readonly head: string;
  /** Of the elements of all inputs. */
  readonly inputBytes: number;
  /** The elements of all inputs, in memory of their own. */
  copyInputs(): Buffer;
  /** Whether a kept head and its elements are this key's: all of them are compared. */
  equals(head: string, inputs: Buffer): boolean;
}

/** One answer as it is kept: its tensors are ranges of `memory`, which is theirs alone, as long as they live. */
export interface CachedAnswer {
  readonly parameters: Parameters;
  readonly outputs: Tensors;
  readonly memory: Buffer;
}

/** Everything that a model answered to one request, in order. */
export type CachedAnswers = readonly CachedAnswer[];

/** What has been asked of a cache, counted by those who ask. `lookups = hits + misses`. */
export interface CacheTally {
  lookups: number;
  hits: number;
  misses: number;
  /** Fractional milliseconds. */
  lookupMs: number;
  insertMs: number;
}

export const noCacheTally = (): CacheTally => ({ lookups: 0, hits: 0, misses: 0, lookupMs: 0, insertMs: 0 });

/** How full a cache is. */
export interface CacheFill {
  readonly entries: number;
  readonly evictions: number;
  /** Share of its size that is in use, 0 to 1. */
  readonly utilization: number;
}

/** Keeps answers. A cache never fails a request: what goes wrong in it is a miss, or something not kept, and a line of the log. */
export interface ResponseCache {
  readonly name: string;
  /** Whether what it keeps outlives a load of a model, and this server: then keys must tell contents apart, and not loads. */
  readonly isShared: boolean;
  /** Answers to one request with more bytes than this are not kept. */
  readonly largestEntryBytes: number;
  readonly tally: CacheTally;
  /** The answers that were kept under an equal key. At once, unless they have to be fetched; a promise never rejects. */
  lookup(key: CacheKey): CachedAnswers | undefined | Promise<CachedAnswers | undefined>;
  /** Keeps the answers, if it can. A promise resolves when that is settled, and never rejects. */
  insert(key: CacheKey, answers: CachedAnswers): void | Promise<void>;
  /** Of answers on their way into it, which may be so many; 0 and 0 where none ever is. Past the limit they are not kept. */
  readonly waitingBytes: number;
  readonly waitingBytesLimit: number;
  /** Undefined where it cannot be told. */
  fill(): CacheFill | undefined;
  close(): Promise<void>;
}
