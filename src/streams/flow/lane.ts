import type { Place } from './waiting-list.ts';

/** What a planner sees of a queue: the items in the order in which they will be taken, again at every look. */
export interface Waiting<Item> extends Iterable<Item> {
  readonly length: number;
}

/** The order in which a queue gives out what waits in it: arrival here, levels of urgency elsewhere. */
export interface Lane<Item> extends Waiting<Item> {
  push(item: Item): Place<Item>;
  /** Takes the next item. */
  shift(): Item | undefined;
  /** Takes out an item wherever it stands; false when it has left before. */
  remove(place: Place<Item>): boolean;
  clear(): void;
}
