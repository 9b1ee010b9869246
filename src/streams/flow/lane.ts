import type { Place } from './waiting-list.ts';

/** What a planner sees of a queue: the items in the order in which they will be taken, again at every look. */
export interface Waiting<Item> extends Iterable<Item> {
  readonly length: number;
}

/** The order in which a queue gives out what waits in it, and for how long it lets it wait: `ArrivalLane`, `PriorityLane`. */
export interface Lane<Item> extends Waiting<Item> {
  /** Whether a bound of the lane's own keeps the item out. */
  isFull(item: Item): boolean;
  push(item: Item): Place<Item>;
  /** Takes the next item. */
  shift(): Item | undefined;
  /** Takes out an item wherever it stands; false when it has left before. */
  remove(place: Place<Item>): boolean;
  clear(): void;
  /** Once this is past, `expire` has something to do; Infinity for never. */
  readonly nextDeadlineMs: number;
  /** Takes out the next item whose time is up and that must not wait on; undefined when there is none. */
  expire(nowMs: number): Item | undefined;
}
