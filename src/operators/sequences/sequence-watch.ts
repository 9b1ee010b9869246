import { Alarm, sameTimeMs } from '../../streams/flow/alarm.ts';
import type { Scheduler } from '../../streams/flow/clock.ts';
import { Deadlines } from '../../streams/flow/deadlines.ts';
import { WaitingList } from '../../streams/flow/waiting-list.ts';
import type { Sequence } from './sequence.ts';

export interface SequenceWatchConfig {
  readonly scheduler: Scheduler;
  readonly maxIdleMs: number;
  /** It holds a slot, and no request has come for `maxIdleMs`. */
  readonly onIdle: (sequence: Sequence) => void;
  /** It is in the backlog, and its deadline is over. */
  readonly onExpired: (sequence: Sequence) => void;
}

/** So long after it got its slot a sequence that had been idle in the backlog is looked at again. */
const secondLookMs = 50;

/**
 * Times of sequences, by one timer. Idle time counts from the arrival of the last request; a sequence in the backlog is never idle, and one that has waited there for
 * too long has 50 ms for its next request once it has its slot.
 */
export class SequenceWatch {
  readonly #config: SequenceWatchConfig;
  /** In order of their last requests. */
  readonly #seen = new WaitingList<Sequence>();
  /** In the order in which they got their slots. */
  readonly #promoted = new WaitingList<Sequence>();
  readonly #deadlines = new Deadlines<Sequence>();
  readonly #alarm: Alarm;

  constructor(config: SequenceWatchConfig) {
    this.#config = config;
    this.#alarm = new Alarm(config.scheduler, (nowMs) => this.#ring(nowMs));
  }

  /** A request of the sequence has come. */
  seen(sequence: Sequence, nowMs: number): void {
    sequence.lastSeenMs = nowMs;
    const place = sequence.seenPlace;
    if (place === undefined || sequence.isOverdue) this.#enter(sequence);
    else this.#seen.renew(place);
  }

  /** The sequence has got its slot. */
  promoted(sequence: Sequence): void {
    this.#deadlines.remove(sequence);
    if (!sequence.isOverdue || sequence.isOver) return;
    sequence.lastSeenMs = this.#config.scheduler.now();
    sequence.seenPlace = this.#promoted.push(sequence);
    this.#alarm.setFor(sequence.lastSeenMs + secondLookMs);
  }

  /** The sequence takes no more requests. */
  over(sequence: Sequence): void {
    this.#leave(sequence);
    this.#stopWhenEmpty();
  }

  /** In the backlog; the earliest of several counts. */
  expireAt(sequence: Sequence, dueMs: number): void {
    if (dueMs >= sequence.dueMs) return;
    this.#deadlines.remove(sequence);
    sequence.dueMs = dueMs;
    this.#deadlines.add(sequence);
    this.#alarm.setFor(dueMs);
  }

  /** It has left the backlog in some other way. */
  keepFromExpiring(sequence: Sequence): void {
    this.#deadlines.remove(sequence);
    this.#stopWhenEmpty();
  }

  stop(): void {
    this.#alarm.stop();
  }

  #enter(sequence: Sequence): void {
    this.#leave(sequence);
    sequence.isOverdue = false;
    sequence.seenPlace = this.#seen.push(sequence);
    this.#alarm.setFor(sequence.lastSeenMs + this.#config.maxIdleMs);
  }

  #leave(sequence: Sequence): void {
    const place = sequence.seenPlace;
    sequence.seenPlace = undefined;
    if (place === undefined) return;
    if (sequence.isOverdue) this.#promoted.remove(place);
    else this.#seen.remove(place);
  }

  #ring(nowMs: number): void {
    const limitMs = nowMs + sameTimeMs;
    const { maxIdleMs, onIdle, onExpired } = this.#config;
    // All are looked at before the first one ends: that gives its slot to another.
    const idle: Sequence[] = [];
    for (let { first } = this.#seen; first !== undefined && first.lastSeenMs + maxIdleMs <= limitMs; first = this.#seen.first) {
      this.#leave(first);
      if (first.slot === undefined) first.isOverdue = true;
      else idle.push(first);
    }
    for (let { first } = this.#promoted; first !== undefined && first.lastSeenMs + secondLookMs <= limitMs; first = this.#promoted.first) {
      this.#leave(first);
      idle.push(first);
    }
    for (const sequence of idle) onIdle(sequence);
    // What these tell may bring requests back here.
    for (let { first } = this.#deadlines; first !== undefined && first.dueMs <= limitMs; first = this.#deadlines.first) {
      this.#deadlines.remove(first);
      onExpired(first);
    }
    const seen = this.#seen.first;
    const promoted = this.#promoted.first;
    if (seen !== undefined) this.#alarm.setFor(seen.lastSeenMs + maxIdleMs);
    if (promoted !== undefined) this.#alarm.setFor(promoted.lastSeenMs + secondLookMs);
    this.#alarm.setFor(this.#deadlines.first?.dueMs ?? Number.POSITIVE_INFINITY);
  }

  #stopWhenEmpty(): void {
    if (this.#seen.length + this.#promoted.length === 0 && this.#deadlines.first === undefined) this.#alarm.stop();
  }
}
