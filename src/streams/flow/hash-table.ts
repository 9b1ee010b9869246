/** Something that a table finds by its hash. It stands in one table at most, and the table keeps its chain in it. */
export interface Hashed<T> {
  /** 32 bits, evenly spread. */
  readonly hash: number;
  /** The table's own. */
  nextInBucket: T | undefined;
}

/**
 * Items by a hash that several of them may share. Adding, finding and taking out cost the same however many there are: it grows by one bucket for each
 * item (linear hashing), and nothing is ever built anew. What is taken out points at nothing that is left.
 */
export class HashTable<T extends Hashed<T>> {
  /** Never fewer than one; as many as there were items at most. */
  readonly #buckets: (T | undefined)[] = [undefined];
  /** The largest power of two that is no more than the number of buckets. */
  #half = 1;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The first that may have this hash; the others follow by `nextInBucket`, and so may some of another hash. */
  first(hash: number): T | undefined {
    return this.#buckets[this.#bucketOf(hash)];
  }

  /** `item` must not be in here. */
  add(item: T): void {
    this.#size++;
    if (this.#size > this.#buckets.length) this.#grow();
    const bucket = this.#bucketOf(item.hash);
    item.nextInBucket = this.#buckets[bucket];
    this.#buckets[bucket] = item;
  }

  /** False for an item that is not in here. */
  remove(item: T): boolean {
    const bucket = this.#bucketOf(item.hash);
    let before: T | undefined;
    for (let each = this.#buckets[bucket]; each !== undefined; each = each.nextInBucket) {
      if (each === item) {
        if (before === undefined) this.#buckets[bucket] = item.nextInBucket;
        else before.nextInBucket = item.nextInBucket;
        item.nextInBucket = undefined;
        this.#size--;
        return true;
      }
      before = each;
    }
    return false;
  }

  #bucketOf(hash: number): number {
    const bucket = hash & (2 * this.#half - 1);
    return bucket < this.#buckets.length ? bucket : hash & (this.#half - 1);
  }

  /** Shares the items of one bucket out between it and a new one. */
  #grow(): void {
    const split = this.#buckets.length - this.#half;
    const added = this.#buckets.length;
    let item = this.#buckets[split];
    this.#buckets[split] = undefined;
    this.#buckets.push(undefined);
    while (item !== undefined) {
      const next = item.nextInBucket;
      const bucket = (item.hash & (2 * this.#half - 1)) === added ? added : split;
      item.nextInBucket = this.#buckets[bucket];
      this.#buckets[bucket] = item;
      item = next;
    }
    if (this.#buckets.length === 2 * this.#half) this.#half *= 2;
  }
}
