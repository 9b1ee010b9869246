import type { Lease } from './leases.ts';
import type { Turnstile } from './turnstile.ts';

/** Something that many use at once. */
export interface Pool {
  /** Below `used` for a while when it has become smaller. */
  limit: number;
  used: number;
}

/** So much of a pool is taken during one use. */
export interface Share {
  readonly pool: Pool;
  readonly count: number;
}

/** One of those who take turns. */
export interface Contender {
  /** Each pool at most once. */
  readonly shares: readonly Share[];
  /** Uses that have ended. */
  turns: number;
  /** False for one who gets nothing more. */
  isUp: boolean;
}

/** Whose question goes, and which of its candidates. */
export interface Grant {
  readonly question: number;
  readonly candidate: number;
}

export interface SharePermitsConfig<Who> {
  /**
   * Pure: what is granted next to those who wait, each with the candidates that it has, in the order in which they asked; undefined for
   * nothing. Asked again after each grant.
   */
  readonly plan: (waiting: readonly (readonly Who[])[]) => Grant | undefined;
}

/** `asked = granted + withdrawn + waiting` at every moment; a question whose candidates have all ended counts as withdrawn. */
export interface ShareCounters {
  asked: number;
  granted: number;
  withdrawn: number;
  waiting: number;
}

export const noShareCounters = (): ShareCounters => ({ asked: 0, granted: 0, withdrawn: 0, waiting: 0 });

export interface TurnstileConfig<Who, Resource> {
  /** Undefined for a resource that is nobody's any more. */
  readonly whoOf: (resource: Resource) => Who | undefined;
  readonly counters: ShareCounters;
}

class SharedLease<Who extends Contender, Resource> implements Lease<Resource> {
  readonly #own: Lease<Resource>;
  readonly #who: Who;
  readonly #permits: SharePermits<Who>;
  #isHeld = true;
  onEnded: ((error: unknown) => void) | undefined;

  constructor(own: Lease<Resource>, who: Who, permits: SharePermits<Who>) {
    this.#own = own;
    this.#who = who;
    this.#permits = permits;
    for (const { pool, count } of who.shares) pool.used += count;
    // By way of a variable, so that V8 does not make it an old object: it would keep the lease, and all of its batch, alive.
    const onEnded = (error: unknown): void => {
      this.#giveBack();
      this.onEnded?.(error);
      permits.grant();
    };
    own.onEnded = onEnded;
  }

  get resource(): Resource {
    return this.#own.resource;
  }

  get isOpen(): boolean {
    return this.#isHeld && this.#own.isOpen;
  }

  release(): void {
    if (!this.#isHeld) return;
    this.#giveBack();
    // Who gets the resource back asks for it at once, perhaps in the place of an older question, and is to stand among the others.
    this.#permits.change(() => this.#own.release());
  }

  #giveBack(): void {
    this.#isHeld = false;
    for (const { pool, count } of this.#who.shares) pool.used -= count;
    this.#who.turns++;
  }
}

/** What `SharePermits` knows of a question, whatever its resources are. */
interface Waiting<Who> {
  /** Whom it has candidates of; empty once every one has ended. */
  refresh(): readonly Who[];
  leave(as: 'granted' | 'withdrawn'): void;
  /** Of those last told. */
  grant(candidate: number): void;
}

class Question<Who extends Contender, Resource> implements Waiting<Who> {
  readonly #permits: SharePermits<Who>;
  readonly #config: TurnstileConfig<Who, Resource>;
  readonly #onGranted: (lease: Lease<Resource>) => void;
  #leases: readonly Lease<Resource>[];
  #candidates: readonly Who[] = [];

  constructor(
    permits: SharePermits<Who>,
    config: TurnstileConfig<Who, Resource>,
    leases: readonly Lease<Resource>[],
    onGranted: (lease: Lease<Resource>) => void,
  ) {
    this.#permits = permits;
    this.#config = config;
    this.#leases = leases;
    this.#onGranted = onGranted;
    config.counters.asked++;
    config.counters.waiting++;
  }

  refresh(): readonly Who[] {
    const { whoOf } = this.#config;
    this.#leases = this.#leases.filter(({ isOpen, resource }) => isOpen && whoOf(resource)?.isUp);
    this.#candidates = this.#leases.map(({ resource }) => whoOf(resource)).filter((who) => who !== undefined);
    return this.#candidates;
  }

  leave(as: 'granted' | 'withdrawn'): void {
    this.#config.counters.waiting--;
    this.#config.counters[as]++;
  }

  grant(candidate: number): void {
    const lease = this.#leases[candidate];
    const who = this.#candidates[candidate];
    if (lease !== undefined && who !== undefined) this.#onGranted(new SharedLease(lease, who, this.#permits));
  }
}

/**
 * Lends shares of pools, each with a resource of those who ask, in the turns that `plan` gives.
 *
 * A question whose candidates have all ended is never granted: ask again with others. Shares are held from the grant until the lease is
 * released or its resource ends.
 */
export class SharePermits<Who extends Contender> {
  readonly #plan: SharePermitsConfig<Who>['plan'];
  /** As few as those who ask: each has one question at a time. */
  readonly #waiting: Waiting<Who>[] = [];
  #isGranting = false;

  constructor({ plan }: SharePermitsConfig<Who>) {
    this.#plan = plan;
  }

  turnstile<Resource>(config: TurnstileConfig<Who, Resource>): Turnstile<Resource> {
    return {
      ask: (candidates, onGranted) => {
        const question = new Question(this, config, candidates, onGranted);
        this.#waiting.push(question);
        this.grant();
        return () => this.#withdraw(question);
      },
    };
  }

  /** Grants nothing before `change` has done all that it does. */
  change(change: () => void): void {
    const wasGranting = this.#isGranting;
    this.#isGranting = true;
    change();
    this.#isGranting = wasGranting;
    this.grant();
  }

  /** To be called when a limit has changed or a contender is gone: what waits may go now. */
  grant(): void {
    // A grant may bring questions, withdrawals and leases back here: the loop sees them on its next round.
    if (this.#isGranting) return;
    this.#isGranting = true;
    while (this.#grantOne());
    this.#isGranting = false;
  }

  /** False when nothing can be granted now. */
  #grantOne(): boolean {
    const candidates: (readonly Who[])[] = [];
    for (const question of [...this.#waiting]) {
      const open = question.refresh();
      if (open.length === 0) this.#leave(question, 'withdrawn');
      else candidates.push(open);
    }
    const grant = candidates.length === 0 ? undefined : this.#plan(candidates);
    const question = grant === undefined ? undefined : this.#waiting[grant.question];
    if (grant === undefined || question === undefined) return false;
    this.#leave(question, 'granted');
    question.grant(grant.candidate);
    return true;
  }

  #withdraw(question: Waiting<Who>): void {
    if (!this.#waiting.includes(question)) return;
    this.#leave(question, 'withdrawn');
    this.grant();
  }

  #leave(question: Waiting<Who>, as: 'granted' | 'withdrawn'): void {
    this.#waiting.splice(this.#waiting.indexOf(question), 1);
    question.leave(as);
  }
}
