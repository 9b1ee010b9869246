import type { CacheEntry } from './cache-entry.ts';

/** Entries from the one that was used last to the one that was not used for longest. One that has left points at no other. */
export class UseOrder {
  #newest: CacheEntry | undefined;
  #oldest: CacheEntry | undefined;

  get oldest(): CacheEntry | undefined {
    return this.#oldest;
  }

  add(entry: CacheEntry): void {
    entry.older = this.#newest;
    if (this.#newest === undefined) this.#oldest = entry;
    else this.#newest.newer = entry;
    this.#newest = entry;
  }

  /** `entry` must be in here. */
  remove(entry: CacheEntry): void {
    if (entry.newer === undefined) this.#newest = entry.older;
    else entry.newer.older = entry.older;
    if (entry.older === undefined) this.#oldest = entry.newer;
    else entry.older.newer = entry.newer;
    entry.newer = undefined;
    entry.older = undefined;
  }

  /** It is used now. */
  touch(entry: CacheEntry): void {
    if (entry === this.#newest) return;
    this.remove(entry);
    this.add(entry);
  }
}
