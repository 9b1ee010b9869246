export interface Ranked {
  readonly rank: bigint;
}

class Tower<T> {
  readonly item: T;
  /** The next tower on each floor: each floor has about a quarter of the towers of the one below. */
  readonly next: (Tower<T> | undefined)[] = [];

  constructor(item: T) {
    this.item = item;
  }
}

const mostFloors = 16;

/**
 * Items by rank, each rank once. Finding, adding and taking out take steps in proportion to the logarithm of their number: a skip list. No Map: one
 * that changes all the time keeps its old tables alive.
 */
export class SortedList<T extends Ranked> {
  readonly #ground: (Tower<T> | undefined)[] = [];
  /** The `next` in which each floor's way to a rank ends. */
  readonly #way: (Tower<T> | undefined)[][] = [];
  #dice = 0x9e3779b9;

  get first(): T | undefined {
    return this.#ground[0]?.item;
  }

  find(rank: bigint): T | undefined {
    const item = this.#walk(rank)[0]?.item;
    return item?.rank === rank ? item : undefined;
  }

  /** No other has its rank. */
  add(item: T): void {
    this.#walk(item.rank);
    const tower = new Tower(item);
    let floor = 0;
    do {
      const next = this.#way[floor] ?? this.#ground;
      tower.next[floor] = next[floor];
      next[floor] = tower;
      floor++;
    } while (floor < mostFloors && this.#isHigher());
  }

  remove(item: T): void {
    const tower = this.#walk(item.rank)[0];
    if (tower?.item !== item) return;
    for (let floor = 0; floor < tower.next.length; floor++) {
      const next = this.#way[floor];
      if (next !== undefined) next[floor] = tower.next[floor];
    }
    // One that has left and grown old would keep those that came after it alive.
    tower.next.length = 0;
    while (this.#ground.length > 0 && this.#ground.at(-1) === undefined) this.#ground.pop();
  }

  clear(): void {
    for (let { first } = this; first !== undefined; first = this.first) this.remove(first);
  }

  *[Symbol.iterator](): Iterator<T> {
    for (let tower = this.#ground[0]; tower !== undefined; tower = tower.next[0]) yield tower.item;
  }

  /** The `next` on the ground floor behind which the rank stands, or would. */
  #walk(rank: bigint): (Tower<T> | undefined)[] {
    const way = this.#way;
    way.length = this.#ground.length;
    let next = this.#ground;
    for (let floor = this.#ground.length - 1; floor >= 0; floor--) {
      for (let tower = next[floor]; tower !== undefined && tower.item.rank < rank; tower = next[floor]) next = tower.next;
      way[floor] = next;
    }
    return next;
  }

  /** True once in four: by xorshift, so that nobody who chooses the ranks chooses the heights. */
  #isHigher(): boolean {
    this.#dice ^= this.#dice << 13;
    this.#dice ^= this.#dice >>> 17;
    this.#dice ^= this.#dice << 5;
    return (this.#dice & 3) === 0;
  }
}
