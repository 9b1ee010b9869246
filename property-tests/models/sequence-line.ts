import type { Asked, Holder, SequenceSetting } from './sequence-asked.ts';
import { initialStates } from './sequence-states.ts';

/** Whether a sequence surely holds a slot, or a place in the backlog; between its end and the model's word of it it may. */
type Presence = 'sure' | 'maybe';

interface Surveyed {
  readonly holder: Holder;
  readonly presence: Presence;
  /** It may have a slot. */
  readonly mayHold: boolean;
  /** It must have one. */
  readonly mustHold: boolean;
}

/** How late what is due may be. */
export const tickMs = 0.002;
/** Sums of the same times differ by less. */
export const sameTimeMs = 1e-6;

/** From when a sequence may be idle, and from when it must. */
export const idleFrom = (holder: Holder, { maxIdleMs }: SequenceSetting): { readonly earliestMs: number; readonly latestMs: number } => {
  const { seen, wasQueued, takenMs } = holder;
  const latestMs = wasQueued ? Math.max(seen.latestMs, takenMs) + Math.max(50, maxIdleMs) : seen.latestMs + maxIdleMs;
  return {
    earliestMs: seen.earliestMs + maxIdleMs - sameTimeMs,
    latestMs: takenMs < Number.POSITIVE_INFINITY ? latestMs + tickMs : takenMs,
  };
};

const presenceOf = (holder: Holder, mayHold: boolean, setting: SequenceSetting, nowMs: number): Presence => {
  const { waiting, flight, isClosed } = holder;
  const [front] = waiting;
  if (!mayHold) return 'sure';
  // The last one of the oldest strategy leaves its slot once it is on its way.
  if (front !== undefined) return setting.strategy.kind === 'oldest' && front.isEnd && flight === undefined ? 'maybe' : 'sure';
  return isClosed || nowMs >= idleFrom(holder, setting).earliestMs ? 'maybe' : 'sure';
};

interface Moment {
  readonly nowMs: number;
  /** Of all instances that live. */
  readonly slots: number;
}

type Why = 'idle' | 'lost' | 'unsure';

/**
 * All sequences that are there, in the order in which they came. Slots are given in that order too, for a slot that is free goes to the first one
 * of the backlog: so a sequence has one exactly when fewer than all slots are taken by those before it.
 */
export class Line {
  readonly #setting: SequenceSetting;
  readonly #moment: Moment;
  /** Why sequences have ended that their clients did not end. */
  readonly #whys = new Map<bigint | string, Why>();
  readonly #open = new Map<bigint | string, Holder>();
  #holders: readonly Holder[] = [];
  #begun = 0;

  constructor(setting: SequenceSetting, moment: Moment) {
    this.#setting = setting;
    this.#moment = moment;
  }

  get holders(): readonly Holder[] {
    return this.#holders;
  }

  /** The sequence that takes requests of this id without START. */
  known(id: bigint | string): Holder | undefined {
    return this.#open.get(id);
  }

  begin(id: bigint | string): Holder {
    const { nowMs } = this.#moment;
    const holder: Holder = {
      n: this.#begun++,
      id,
      waiting: [],
      flight: undefined,
      seat: undefined,
      seen: { earliestMs: nowMs, latestMs: nowMs },
      wasQueued: false,
      takenMs: Number.POSITIVE_INFINITY,
      isClosed: false,
      isIdle: false,
      before: this.#holders,
      behind: [],
      idleStep: 'none',
      states: initialStates,
      told: undefined,
    };
    this.#holders = [...this.#holders, holder];
    if (id !== 0n && id !== '') this.#open.set(id, holder);
    return holder;
  }

  why(id: bigint | string): Why | undefined {
    return this.#whys.get(id);
  }

  /** Its id is free. */
  close(holder: Holder, why?: Why): void {
    if (holder.isClosed) return;
    holder.isClosed = true;
    this.#open.delete(holder.id);
    // At the moment at which it may be idle, that may have been first.
    const isUnsure = why !== 'idle' && this.#moment.nowMs >= idleFrom(holder, this.#setting).earliestMs;
    if (isUnsure) this.#whys.set(holder.id, 'unsure');
    else if (why !== undefined) this.#whys.set(holder.id, why);
  }

  /** It is in use again. */
  forgetWhy(id: bigint | string): void {
    this.#whys.delete(id);
  }

  /** Its slot is free too. */
  leave(holder: Holder): void {
    this.close(holder);
    this.#holders = this.#holders.filter((other) => other !== holder);
  }

  /** From this request on the sequence ends without the model. */
  end(holder: Holder, first: Asked | undefined, why?: Why): void {
    const index = first === undefined ? -1 : holder.waiting.indexOf(first);
    for (const asked of index < 0 ? [] : holder.waiting.splice(index)) asked.isDoomed = true;
    holder.idleStep = 'none';
    this.close(holder, why);
    this.tidy(holder);
  }

  /** It leaves its slot, or the backlog, when nothing of it waits or runs and nothing can come. */
  tidy(holder: Holder): void {
    if (!holder.isClosed || holder.waiting.length > 0 || holder.flight !== undefined || holder.idleStep === 'due') return;
    if (!holder.behind.some((isThere) => isThere())) this.leave(holder);
  }

  /** A request of it has come, unless it was idle before. */
  see(holder: Holder): void {
    const { nowMs } = this.#moment;
    if (nowMs >= idleFrom(holder, this.#setting).earliestMs) this.becomeIdle(holder);
    else holder.seen.earliestMs = holder.seen.latestMs = nowMs;
  }

  becomeIdle(holder: Holder): void {
    if (holder.isClosed) return;
    holder.isIdle = true;
    if (this.#setting.endsIdleWithStep) holder.idleStep = 'due';
    this.close(holder, 'idle');
    this.tidy(holder);
  }

  /** Notes what has become certain by now. */
  settle(): void {
    const { nowMs } = this.#moment;
    for (const { holder, mustHold, mayHold } of this.survey()) {
      if (mustHold && holder.takenMs === Number.POSITIVE_INFINITY) holder.takenMs = nowMs;
      if (!mustHold) holder.wasQueued = true;
      if (mayHold && nowMs >= idleFrom(holder, this.#setting).latestMs) this.becomeIdle(holder);
      this.tidy(holder);
    }
  }

  survey(): readonly Surveyed[] {
    const { nowMs, slots } = this.#moment;
    let sure = 0;
    let all = 0;
    return this.#holders.map((holder) => {
      const mayHold = sure < slots;
      const mustHold = all < slots;
      const presence = presenceOf(holder, mayHold, this.#setting, nowMs);
      if (presence === 'sure') sure++;
      all++;
      return { holder, presence, mayHold, mustHold };
    });
  }
}
