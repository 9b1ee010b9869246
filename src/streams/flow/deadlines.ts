/** What has a time at which it is up. */
export interface Due {
  readonly dueMs: number;
  /** Of those that are due together the lower comes first. */
  readonly order: number;
  /** Where it stands among the deadlines, which alone write it; −1 for nowhere. */
  at: number;
}

const isBefore = (a: Due, b: Due): boolean => a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order);

/** What is due next of many. Adding and taking out anywhere take steps in proportion to the logarithm of their number: a binary heap. */
export class Deadlines<T extends Due> {
  readonly #heap: T[] = [];

  get first(): T | undefined {
    return this.#heap[0];
  }

  add(item: T): void {
    this.#heap.push(item);
    this.#rise(item, this.#heap.length - 1);
  }

  /** Does nothing for one that is not among them. */
  remove(item: T): void {
    const { at } = item;
    if (at < 0) return;
    item.at = -1;
    const last = this.#heap.pop();
    if (last === undefined || last === item) return;
    const parent = this.#heap[(at - 1) >> 1];
    if (at > 0 && parent !== undefined && isBefore(last, parent)) this.#rise(last, at);
    else this.#sink(last, at);
  }

  clear(): void {
    for (const item of this.#heap.splice(0)) item.at = -1;
  }

  #put(item: T, at: number): void {
    this.#heap[at] = item;
    item.at = at;
  }

  #rise(item: T, from: number): void {
    let at = from;
    while (at > 0) {
      const above = (at - 1) >> 1;
      const parent = this.#heap[above];
      if (parent === undefined || !isBefore(item, parent)) break;
      this.#put(parent, at);
      at = above;
    }
    this.#put(item, at);
  }

  #sink(item: T, from: number): void {
    let at = from;
    for (;;) {
      let below = 2 * at + 1;
      let child = this.#heap[below];
      const other = this.#heap[below + 1];
      if (child !== undefined && other !== undefined && isBefore(other, child)) {
        below++;
        child = other;
      }
      if (child === undefined || !isBefore(child, item)) break;
      this.#put(child, at);
      at = below;
    }
    this.#put(item, at);
  }
}
