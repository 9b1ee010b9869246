import type { Hashed } from '../../streams/flow/hash-table.ts';
import type { CachedAnswers, CacheKey } from '../../streams/inference/response-cache.ts';

/**
 * What V8 and the allocator take for the objects of an entry besides their bytes: measured with many small entries, and rounded up. Each answer, tensor and
 * parameter has its own.
 */
const entryBytes = 640;
const answerBytes = 480;
const tensorBytes = 320;
const parameterBytes = 160;

/** Memory that an entry will take, all of it. */
export const costOf = ({ head, inputBytes }: CacheKey, answers: CachedAnswers): number => {
  let bytes = entryBytes + 2 * head.length + inputBytes;
  for (const { parameters, outputs, memory } of answers) {
    bytes += answerBytes + memory.byteLength;
    for (const [name, { shape }] of outputs) bytes += tensorBytes + 2 * name.length + 8 * shape.length;
    for (const [name, value] of parameters) bytes += parameterBytes + 2 * (name.length + (typeof value === 'string' ? value.length : 0));
  }
  return bytes;
};

/** Answers under their whole key, with neighbours in the order of use. */
export class CacheEntry implements Hashed<CacheEntry> {
  nextInBucket: CacheEntry | undefined;
  older: CacheEntry | undefined;
  newer: CacheEntry | undefined;
  readonly hash: number;
  readonly bytes: number;
  readonly answers: CachedAnswers;
  readonly #digest: string;
  readonly #head: string;
  readonly #inputs: Buffer;

  constructor(key: CacheKey, answers: CachedAnswers, bytes: number) {
    this.hash = key.hash;
    this.bytes = bytes;
    this.answers = answers;
    this.#digest = key.digest;
    this.#head = key.head;
    this.#inputs = key.copyInputs();
  }

  isOf(key: CacheKey): boolean {
    return key.digest === this.#digest && key.equals(this.#head, this.#inputs);
  }
}
