import type { Observer, Unsubscribable } from 'rxjs';
import type { Place } from './waiting-list.ts';
import { WaitingList } from './waiting-list.ts';

export interface InOrderConfig<T> {
  /** Answers that may be held back at once; at least 1. */
  readonly limit: number;
  /** And their sizes together, of more than one. */
  readonly maxSize: number;
  readonly sizeOf: (answer: T) => number;
  /** What to hold in the place of an answer that may be read only while it is emitted; of the same size. */
  readonly keep: (answer: T) => T;
  /** Whether an error is no answer, and so waits for no turn. */
  readonly isUrgent: (error: unknown) => boolean;
  /** The error of a question whose answer finds no room. */
  readonly overflow: () => unknown;
  /** Written here, read by anyone. */
  readonly counters?: OrderCounters;
}

/** Answers: `in = out + dropped + held` at every moment. */
export interface OrderCounters {
  in: number;
  out: number;
  /** Their callers went away, or there was no room for more. */
  dropped: number;
  held: number;
  /** Sizes of those held, together. */
  heldSize: number;
}

export const noOrderCounters = (): OrderCounters => ({ in: 0, out: 0, dropped: 0, held: 0, heldSize: 0 });

type End = { readonly error: unknown } | 'complete';

/** The turn of one question: takes what answers it. Unsubscribing gives it up, and after its end means nothing. */
export interface Turn<T> extends Observer<T>, Unsubscribable {}

class Standing<T extends NonNullable<unknown>> implements Turn<T> {
  readonly caller: Observer<T>;
  readonly #line: InOrder<T>;
  place: Place<Standing<T>> | undefined;
  held: WaitingList<T> | undefined;
  heldSize = 0;
  end: End | undefined;

  constructor(caller: Observer<T>, line: InOrder<T>) {
    this.caller = caller;
    this.#line = line;
  }

  /** Whether more may come of it. */
  get isOpen(): boolean {
    return this.end === undefined && this.place?.isTaken === true;
  }

  next(answer: T): void {
    if (this.isOpen) this.#line.take(this, answer);
  }

  error(error: unknown): void {
    if (this.isOpen) this.#line.end(this, { error });
  }

  complete(): void {
    if (this.isOpen) this.#line.end(this, 'complete');
  }

  unsubscribe(): void {
    this.#line.leave(this);
  }

  emitEnd(end: End): void {
    if (end === 'complete') this.caller.complete();
    else this.caller.error(end.error);
  }
}

/**
 * Lets answers out in the order of their questions: those of a question go on as they come once every earlier question has ended, and are
 * held back until then.
 *
 * An urgent error of a question that has nothing held goes out at once, and so does the end of one whose answer finds no room: it fails
 * with `overflow`, and what was held of it is dropped. A question whose caller goes away gives up its turn.
 */
export class InOrder<T extends NonNullable<unknown>> {
  readonly #config: InOrderConfig<T>;
  readonly #counters: OrderCounters;
  readonly #turns = new WaitingList<Standing<T>>();
  #isLettingOut = false;

  constructor(config: InOrderConfig<T>) {
    this.#config = config;
    this.#counters = config.counters ?? noOrderCounters();
  }

  /** A question begins: its turn is the last. Whoever opens it gives it up when the caller goes away. */
  open(caller: Observer<T>): Turn<T> {
    const turn = new Standing(caller, this);
    turn.place = this.#turns.push(turn);
    return turn;
  }

  /** For turns alone, as are the next two. */
  take(turn: Standing<T>, answer: T): void {
    this.#counters.in++;
    if (this.#turns.first !== turn || this.#isLettingOut) {
      this.#hold(turn, answer);
      return;
    }
    this.#counters.out++;
    turn.caller.next(answer);
  }

  end(turn: Standing<T>, end: End): void {
    turn.end = end;
    if (end !== 'complete' && turn.held === undefined && this.#config.isUrgent(end.error)) this.#closeAtOnce(turn, end);
    else this.#letOut();
  }

  leave(turn: Standing<T>): void {
    if (!this.#remove(turn)) return;
    this.#letOut();
  }

  #hold(turn: Standing<T>, answer: T): void {
    const { limit, maxSize, sizeOf, keep, overflow } = this.#config;
    const { held, heldSize } = this.#counters;
    const size = sizeOf(answer);
    if (held >= limit || (held > 0 && heldSize + size > maxSize)) {
      this.#counters.dropped++;
      this.#closeAtOnce(turn, { error: overflow() });
      return;
    }
    this.#counters.held++;
    this.#counters.heldSize += size;
    turn.heldSize += size;
    turn.held ??= new WaitingList();
    turn.held.push(keep(answer));
  }

  /** Emitting may end questions, give up turns and bring new ones: the loop sees them on its next round. */
  #letOut(): void {
    if (this.#isLettingOut) return;
    this.#isLettingOut = true;
    for (let turn = this.#turns.first; turn !== undefined; turn = this.#turns.first) {
      const answer = this.#unhold(turn);
      if (answer !== undefined) turn.caller.next(answer);
      else if (turn.end !== undefined) this.#close(turn, turn.end);
      else break;
    }
    this.#isLettingOut = false;
  }

  #unhold(turn: Standing<T>): T | undefined {
    const answer = turn.held?.shift();
    if (answer === undefined) return undefined;
    const size = this.#config.sizeOf(answer);
    turn.heldSize -= size;
    this.#counters.held--;
    this.#counters.heldSize -= size;
    this.#counters.out++;
    return answer;
  }

  #close(turn: Standing<T>, end: End): void {
    this.#remove(turn);
    turn.emitEnd(end);
  }

  /** The next turn may be the first now, with answers held: what comes to it meanwhile must not overtake them. */
  #closeAtOnce(turn: Standing<T>, end: End): void {
    const wasLettingOut = this.#isLettingOut;
    this.#isLettingOut = true;
    this.#close(turn, end);
    this.#isLettingOut = wasLettingOut;
    this.#letOut();
  }

  /** False for one that has left before. */
  #remove(turn: Standing<T>): boolean {
    if (turn.place === undefined || !this.#turns.remove(turn.place)) return false;
    const dropped = turn.held?.length ?? 0;
    this.#counters.held -= dropped;
    this.#counters.dropped += dropped;
    this.#counters.heldSize -= turn.heldSize;
    turn.held?.clear();
    return true;
  }
}
