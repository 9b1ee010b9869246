/** Where an item stands in a lane; whoever holds it can take the item out. */
export interface Place<T> {
  readonly item: T;
  /** False once the item has left. */
  readonly isTaken: boolean;
}

/** What stands in a list: one at a time, which alone writes it. To be extended where an item needs an object of its own anyway. */
export class Link<T> implements Place<T> {
  readonly item: T;
  before: Link<T> | undefined;
  after: Link<T> | undefined;
  isTaken = false;

  constructor(item: T) {
    this.item = item;
  }
}

/**
 * Items in order of arrival. Adding and taking out anywhere cost the same however long it is; it can be walked again and again, as long as none is
 * taken out meanwhile.
 */
export class WaitingList<T extends NonNullable<unknown>> {
  #first: Link<T> | undefined;
  #last: Link<T> | undefined;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** The one that has been here longest. */
  get first(): T | undefined {
    return this.#first?.item;
  }

  get firstLink(): Link<T> | undefined {
    return this.#first;
  }

  push(item: T): Place<T> {
    const link = new Link(item);
    this.append(link);
    return link;
  }

  /** `link` must be in no list. */
  append(link: Link<T>): void {
    link.before = this.#last;
    link.isTaken = true;
    if (this.#last === undefined) this.#first = link;
    else this.#last.after = link;
    this.#last = link;
    this.#length++;
  }

  shift(): T | undefined {
    const link = this.#first;
    if (link !== undefined) this.#unlink(link);
    return link?.item;
  }

  /** `place` must be one of this list's own. */
  remove(place: Place<T>): boolean {
    if (!(place instanceof Link) || !place.isTaken) return false;
    this.#unlink(place);
    return true;
  }

  /** Puts an item at the end, as if it came now. `place` must be one of this list's own, and taken. */
  renew(place: Place<T>): void {
    if (!(place instanceof Link) || !place.isTaken || place === this.#last) return;
    const { before, after } = place;
    if (before === undefined) this.#first = after;
    else before.after = after;
    if (after !== undefined) after.before = before;
    place.before = this.#last;
    place.after = undefined;
    if (this.#last !== undefined) this.#last.after = place;
    this.#last = place;
  }

  /** Takes out an item and all that came after it, in order. */
  cut(place: Place<T>): T[] {
    if (!(place instanceof Link) || !place.isTaken) return [];
    const items: T[] = [];
    let link: Link<T> | undefined = place;
    while (link !== undefined) {
      const { after }: Link<T> = link;
      items.push(link.item);
      this.#unlink(link);
      link = after;
    }
    return items;
  }

  clear(): void {
    while (this.#first !== undefined) this.#unlink(this.#first);
  }

  *[Symbol.iterator](): Iterator<T> {
    for (let link = this.#first; link !== undefined; link = link.after) yield link.item;
  }

  #unlink(link: Link<T>): void {
    if (link.before === undefined) this.#first = link.after;
    else link.before.after = link.after;
    if (link.after === undefined) this.#last = link.before;
    else link.after.before = link.before;
    // A link that has left and grown old would keep all that came after it alive until the next full collection, each one the next.
    link.before = undefined;
    link.after = undefined;
    link.isTaken = false;
    this.#length--;
  }
}
