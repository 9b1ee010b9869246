import type { Due } from './deadlines.ts';
import { Deadlines } from './deadlines.ts';
import type { Lane } from './lane.ts';
import type { Ranked } from './sorted-list.ts';
import { SortedList } from './sorted-list.ts';
import type { Place } from './waiting-list.ts';
import { Link, WaitingList } from './waiting-list.ts';

/** How one level treats its items. */
export interface LevelRule<Item> {
  /** How many may wait, those that are late included. */
  readonly limit: number;
  /** Its time is up once this is past; Infinity for never. */
  deadlineMs(item: Item): number;
  /** Whether an item whose time is up leaves, or waits on without a deadline behind all others of its level. */
  readonly whenDue: 'reject' | 'delay';
}

export interface PriorityLaneConfig<Item> {
  /** The lower, the more urgent. */
  readonly levelOf: (item: Item) => bigint;
  /** Always the same for a level. */
  readonly ruleOf: (level: bigint) => LevelRule<Item>;
}

/** What waits in a level, and how much may. */
export interface LevelTally {
  readonly rank: bigint;
  readonly length: number;
  readonly limit: number;
}

/** A level in which something waits. */
class Level<Item extends NonNullable<unknown>> implements Ranked {
  readonly rank: bigint;
  readonly rule: LevelRule<Item>;
  readonly inTime = new WaitingList<Item>();
  readonly late = new WaitingList<Item>();

  constructor(rank: bigint, rule: LevelRule<Item>) {
    this.rank = rank;
    this.rule = rule;
  }

  get length(): number {
    return this.inTime.length + this.late.length;
  }
}

/** Stands in a list of its level. */
class Entry<Item extends NonNullable<unknown>> extends Link<Item> implements Due {
  readonly level: Level<Item>;
  readonly dueMs: number;
  readonly order: number;
  at = -1;
  /** In which of the two. */
  isLate = false;

  constructor(item: Item, level: Level<Item>, order: number) {
    super(item);
    this.level = level;
    this.order = order;
    this.dueMs = level.rule.deadlineMs(item);
    level.inTime.append(this);
  }
}

/**
 * Items leave by level, the lowest first; within a level in order of arrival, and after them those that are late, in the order in which they became so.
 * Whatever levels there are, only those in which something waits take memory. Every step is logarithmic in what waits.
 */
export class PriorityLane<Item extends NonNullable<unknown>> implements Lane<Item> {
  readonly #config: PriorityLaneConfig<Item>;
  readonly #levels = new SortedList<Level<Item>>();
  readonly #deadlines = new Deadlines<Entry<Item>>();
  #length = 0;
  #pushed = 0;

  constructor(config: PriorityLaneConfig<Item>) {
    this.#config = config;
  }

  get length(): number {
    return this.#length;
  }

  get nextDeadlineMs(): number {
    return this.#deadlines.first?.dueMs ?? Number.POSITIVE_INFINITY;
  }

  /** Where something waits, the most urgent first. */
  *levels(): Iterable<LevelTally> {
    for (const { rank, length, rule } of this.#levels) yield { rank, length, limit: rule.limit };
  }

  isFull(item: Item): boolean {
    const rank = this.#config.levelOf(item);
    return (this.#levels.find(rank)?.length ?? 0) >= this.#config.ruleOf(rank).limit;
  }

  push(item: Item): Place<Item> {
    const entry = new Entry(item, this.#levelFor(this.#config.levelOf(item)), this.#pushed++);
    if (entry.dueMs !== Number.POSITIVE_INFINITY) this.#deadlines.add(entry);
    this.#length++;
    return entry;
  }

  shift(): Item | undefined {
    const level = this.#levels.first;
    const entry = level?.inTime.firstLink ?? level?.late.firstLink;
    if (!(entry instanceof Entry)) return undefined;
    this.#take(entry);
    return entry.item;
  }

  /** `place` must be one of this lane's own. */
  remove(place: Place<Item>): boolean {
    if (!(place instanceof Entry) || !place.isTaken) return false;
    this.#take(place);
    return true;
  }

  clear(): void {
    this.#deadlines.clear();
    for (const { inTime, late } of this.#levels) {
      inTime.clear();
      late.clear();
    }
    this.#levels.clear();
    this.#length = 0;
  }

  expire(nowMs: number): Item | undefined {
    for (let entry = this.#deadlines.first; entry !== undefined && nowMs > entry.dueMs; entry = this.#deadlines.first) {
      if (entry.level.rule.whenDue === 'reject') {
        this.#take(entry);
        return entry.item;
      }
      this.#deadlines.remove(entry);
      entry.level.inTime.remove(entry);
      entry.isLate = true;
      entry.level.late.append(entry);
    }
    return undefined;
  }

  *[Symbol.iterator](): Iterator<Item> {
    for (const { inTime, late } of this.#levels) {
      for (let link = inTime.firstLink; link !== undefined; link = link.after) yield link.item;
      for (let link = late.firstLink; link !== undefined; link = link.after) yield link.item;
    }
  }

  #take(entry: Entry<Item>): void {
    const { level } = entry;
    this.#deadlines.remove(entry);
    (entry.isLate ? level.late : level.inTime).remove(entry);
    this.#length--;
    if (level.length === 0) this.#levels.remove(level);
  }

  #levelFor(rank: bigint): Level<Item> {
    const found = this.#levels.find(rank);
    if (found !== undefined) return found;
    const level = new Level<Item>(rank, this.#config.ruleOf(rank));
    this.#levels.add(level);
    return level;
  }
}
