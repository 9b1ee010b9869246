import type { CachedAnswers, CacheFill, CacheKey, ResponseCache } from '../../src/streams/inference/response-cache.ts';

/** A cache whose answers come when they are let, the oldest first. */
export class SlowCache implements ResponseCache {
  readonly name = 'slow';
  readonly isShared = true;
  readonly waitingBytes = 0;
  readonly waitingBytesLimit = 0;
  readonly #inner: ResponseCache;
  readonly #asked: (() => void)[] = [];

  constructor(inner: ResponseCache) {
    this.#inner = inner;
  }

  get largestEntryBytes(): number {
    return this.#inner.largestEntryBytes;
  }

  get tally(): ResponseCache['tally'] {
    return this.#inner.tally;
  }

  get isAsked(): boolean {
    return this.#asked.length > 0;
  }

  answer(): void {
    this.#asked.shift()?.();
  }

  lookup(key: CacheKey): Promise<CachedAnswers | undefined> {
    return new Promise((resolve) => this.#asked.push(() => resolve(this.#inner.lookup(key))));
  }

  insert(key: CacheKey, answers: CachedAnswers): void | Promise<void> {
    return this.#inner.insert(key, answers);
  }

  fill(): CacheFill | undefined {
    return this.#inner.fill();
  }

  close(): Promise<void> {
    return this.#inner.close();
  }
}
