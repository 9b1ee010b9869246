import type { Observer, Subscription } from 'rxjs';
import type { Hashed } from '../../streams/flow/hash-table.ts';
import { WaitingList } from '../../streams/flow/waiting-list.ts';
import { type InferError, toInferError } from '../../streams/inference/error.ts';
import type { Infer } from '../../streams/inference/infer.ts';
import type { InferRequest } from '../../streams/inference/request.ts';
import type { InferResponse } from '../../streams/inference/response.ts';
import type { CachedAnswer, CachedAnswers } from '../../streams/inference/response-cache.ts';
import type { AnswerSource, CacheAsker } from './cache-asker.ts';
import type { RequestKey } from './request-key.ts';
import { SharedDemand } from './shared-demand.ts';

/** Who owns the runs of a model. */
export interface RunOwner {
  readonly next: Infer;
  /** An answer to be kept; undefined where there is no room for it. */
  record(run: SharedRun, response: InferResponse): CachedAnswer | undefined;
  /** Lets an asker have what it has not had, now or after those whose turn is before. */
  deliver(asker: CacheAsker): void;
  /** The asker's request is about to run. */
  onLeads(asker: CacheAsker): void;
  /** The model has answered, and all of its answers are here. Nobody joins the run any more, here and below. */
  onWhole(run: SharedRun): void;
  /** There is nothing to be kept of it. */
  onDropped(run: SharedRun): void;
}

interface Pass {
  readonly response: InferResponse;
  /** Who has not had it, the next one last. */
  readonly to: CacheAsker[];
}

/**
 * One question to the model for all that ask the same: the first leads, and its request is what runs. It goes on as long as one of them waits. Answers are
 * recorded, so that who joins late has them all; once they are too large to be, or one of them is an error, they pass as they come and nobody joins
 * any more.
 *
 * A failure of the model is everybody's, since whoever asks it the same would have it again. Any other is the leader's own, its place in the queue
 * or its time-out, and the next one leads a new run.
 */
export class SharedRun implements Observer<InferResponse>, AnswerSource, Hashed<SharedRun> {
  nextInBucket: SharedRun | undefined;
  readonly key: RequestKey;
  /** Of whoever began it. */
  readonly request: InferRequest;
  readonly askers = new WaitingList<CacheAsker>();
  recordedBytes = 0;
  /** What looking into the cache took, from its miss until that is reported. */
  missedAfterMs: number | undefined;
  readonly #owner: RunOwner;
  readonly #recorded: CachedAnswer[] = [];
  /** By the cache. */
  #found: CachedAnswers | undefined;
  #end: AnswerSource['end'];
  /** Undefined once it has gone. */
  #leader: CacheAsker | undefined;
  /** Where the first one has a demand: of a model that may wait for room. */
  readonly #demand: SharedDemand | undefined;
  #running: Subscription | undefined;
  #isPassing = false;
  /** Answers that are kept nowhere, on their way. */
  readonly #passing: Pass[] = [];
  #isStarting = false;
  #mustStart = false;

  constructor(owner: RunOwner, leader: CacheAsker) {
    this.#owner = owner;
    this.key = leader.key;
    this.request = leader.request;
    this.#leader = leader;
    this.#demand = leader.request.demand === undefined ? undefined : new SharedDemand(this.askers);
    this.add(leader);
  }

  get hash(): number {
    return this.key.hash;
  }

  get answers(): CachedAnswers {
    return this.#found ?? this.#recorded;
  }

  get end(): AnswerSource['end'] {
    return this.#end;
  }

  add(asker: CacheAsker): void {
    asker.source = this;
    asker.place = this.askers.push(asker);
    this.#demand?.add(asker);
  }

  /** The cache had the answers. */
  find(answers: CachedAnswers, lookupMs: number): void {
    this.#found = answers;
    this.#end = 'complete';
    if (this.#leader !== undefined) {
      this.#leader.role = 'hit';
      this.#leader.lookupMs = lookupMs;
    }
    this.#owner.onDropped(this);
    this.#deliverAll();
  }

  /** Asks the model, again and again while that fails its leaders at once. */
  start(): void {
    this.#mustStart = true;
    if (this.#isStarting) return;
    this.#isStarting = true;
    while (this.#mustStart) {
      this.#mustStart = false;
      const leader = this.askers.first;
      // They may all have gone when the one before failed.
      if (leader === undefined) break;
      this.#leader = leader;
      this.#owner.onLeads(leader);
      const { request } = leader;
      const asked = this.#demand === undefined ? request : { ...request, demand: this.#demand };
      const running = this.#owner.next(asked).subscribe(this);
      this.#running = running;
      // It may be over already, by an answer or a cancellation within `subscribe`.
      if (this.#end !== undefined) running.unsubscribe();
    }
    this.#isStarting = false;
  }

  next(response: InferResponse): void {
    if (this.#end !== undefined) return;
    // What has an error in it is not kept.
    const isKept = !this.#isPassing && response.error === undefined;
    const answer = isKept ? this.#owner.record(this, response) : undefined;
    if (answer === undefined) {
      this.#pass(response);
      return;
    }
    this.#recorded.push(answer);
    if (response.isLast) this.complete();
    else for (const asker of [...this.askers]) this.#owner.deliver(asker);
  }

  complete(): void {
    if (this.#end !== undefined) return;
    this.#passOn();
    this.#end = 'complete';
    if (!this.#isPassing) this.#owner.onWhole(this);
    this.#deliverAll();
  }

  error(thrown: unknown): void {
    if (this.#end !== undefined) return;
    this.#passOn();
    const error = toInferError(thrown);
    const others = this.askers.length - (this.#leader === undefined ? 0 : 1);
    if (error.reason !== 'BACKEND' && others > 0 && this.#recorded.length === 0 && !this.#isPassing) {
      this.#failLeader(error);
      return;
    }
    this.#end = error;
    this.#drop();
    this.#deliverAll();
  }

  /** A caller has gone. */
  leave(asker: CacheAsker): void {
    if (asker.place !== undefined) this.askers.remove(asker.place);
    if (asker === this.#leader) this.#leader = undefined;
    if (this.askers.length > 0 || this.#end !== undefined) return;
    this.#end = 'complete';
    this.#drop();
    this.#running?.unsubscribe();
    // A model that does not hear of it is not to wait for room.
    this.#demand?.reopen();
  }

  #failLeader(error: InferError): void {
    const leader = this.#leader;
    this.#leader = undefined;
    if (leader?.place !== undefined) this.askers.remove(leader.place);
    leader?.finish(error);
    this.start();
  }

  /** Its tensors are valid now, so now everybody has it, after those on their way whose callers have brought this one. */
  #pass(response: InferResponse): void {
    this.#drop();
    this.#isPassing = true;
    this.#passing.push({ response, to: [...this.askers].reverse() });
    this.#passOn();
  }

  /** An emission may bring the next answer, which then comes back here before it returns: so all goes in order, and the innermost call does it. */
  #passOn(): void {
    for (let pass = this.#passing[0]; pass !== undefined; pass = this.#passing[0]) {
      const asker = pass.to.at(-1);
      // What was recorded goes first. It may bring an answer, too, and then this one has gone out by now.
      asker?.pump();
      if (this.#passing[0] !== pass) continue;
      if (asker === undefined) {
        this.#passing.shift();
        continue;
      }
      pass.to.pop();
      asker.pass(pass.response);
    }
  }

  #drop(): void {
    if (!this.#isPassing) this.#owner.onDropped(this);
  }

  #deliverAll(): void {
    for (let asker = this.askers.shift(); asker !== undefined; asker = this.askers.shift()) this.#owner.deliver(asker);
  }
}
