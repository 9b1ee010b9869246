import { HashTable } from '../../streams/flow/hash-table.ts';
import type { Log } from '../../streams/inference/log.ts';
import { notInserted } from '../../streams/inference/not-inserted.ts';
import {
  type CachedAnswers,
  type CacheFill,
  type CacheKey,
  noCacheTally,
  type ResponseCache,
} from '../../streams/inference/response-cache.ts';
import { CacheEntry, costOf } from './cache-entry.ts';
import { UseOrder } from './use-order.ts';

export interface LocalCacheConfig {
  /** All that it may take, keys and objects counted. */
  readonly sizeBytes: number;
  readonly log: Log;
}

/**
 * Answers in this process's memory. The entries that were not used for longest make room for new ones. Looking up and inserting cost the same however many
 * there are, besides the bytes of the entry itself.
 */
export class LocalCache implements ResponseCache {
  readonly name = 'local';
  readonly isShared = false;
  readonly waitingBytes = 0;
  readonly waitingBytesLimit = 0;
  readonly tally = noCacheTally();
  readonly #config: LocalCacheConfig;
  readonly #entries = new HashTable<CacheEntry>();
  readonly #order = new UseOrder();
  #bytes = 0;
  #evictions = 0;
  #saidTooLarge = false;

  constructor(config: LocalCacheConfig) {
    this.#config = config;
  }

  get largestEntryBytes(): number {
    return this.#config.sizeBytes;
  }

  lookup(key: CacheKey): CachedAnswers | undefined {
    const entry = this.#find(key);
    if (entry !== undefined) this.#order.touch(entry);
    return entry?.answers;
  }

  insert(key: CacheKey, answers: CachedAnswers): void {
    const known = this.#find(key);
    if (known !== undefined) {
      this.#order.touch(known);
      return;
    }
    const bytes = costOf(key, answers);
    if (bytes > this.#config.sizeBytes) {
      this.#sayTooLarge(key, bytes);
      return;
    }
    this.#makeRoom(bytes);
    const entry = new CacheEntry(key, answers, bytes);
    this.#bytes += bytes;
    this.#entries.add(entry);
    this.#order.add(entry);
  }

  fill(): CacheFill {
    return { entries: this.#entries.size, evictions: this.#evictions, utilization: this.#bytes / this.#config.sizeBytes };
  }

  async close(): Promise<void> {
    for (let entry = this.#order.oldest; entry !== undefined; entry = this.#order.oldest) this.#drop(entry);
  }

  #find(key: CacheKey): CacheEntry | undefined {
    for (let entry = this.#entries.first(key.hash); entry !== undefined; entry = entry.nextInBucket) {
      if (entry.isOf(key)) return entry;
    }
    return undefined;
  }

  #makeRoom(bytes: number): void {
    while (this.#bytes + bytes > this.#config.sizeBytes) {
      const { oldest } = this.#order;
      if (oldest === undefined) return;
      this.#drop(oldest);
      this.#evictions++;
    }
  }

  #drop(entry: CacheEntry): void {
    this.#entries.remove(entry);
    this.#order.remove(entry);
    this.#bytes -= entry.bytes;
  }

  #sayTooLarge(key: CacheKey, bytes: number): void {
    if (this.#saidTooLarge) return;
    this.#saidTooLarge = true;
    this.#config.log.warning(notInserted(key, bytes, this));
  }
}
