import type { Subscriber } from 'rxjs';
import { Observable } from 'rxjs';
import { HashTable } from '../../streams/flow/hash-table.ts';
import { WaitingList } from '../../streams/flow/waiting-list.ts';
import { InferError, requestPrefix } from '../../streams/inference/error.ts';
import type { EventSink } from '../../streams/inference/events.ts';
import type { Infer, Layer } from '../../streams/inference/infer.ts';
import type { Log } from '../../streams/inference/log.ts';
import type { ModelSpec } from '../../streams/inference/model-spec.ts';
import type { InferRequest } from '../../streams/inference/request.ts';
import type { InferResponse } from '../../streams/inference/response.ts';
import type { CachedAnswer, CachedAnswers, ResponseCache } from '../../streams/inference/response-cache.ts';
import { queueLimit } from '../batching/queue-policy.ts';
import { type AskerWatch, CacheAsker } from './cache-asker.ts';
import { cacheKeys } from './cache-keys.ts';
import { CacheReports } from './cache-reports.ts';
import { copyAnswer } from './copy-answer.ts';
import { queuesAlike } from './queues-alike.ts';
import type { RequestKey } from './request-key.ts';
import { type RunOwner, SharedRun } from './shared-run.ts';

/** Requests; `in = out + failed + queued + running` at every moment. */
export interface CacheStageCounters {
  in: number;
  out: number;
  failed: number;
  /** Wait for the run of another request. */
  queued: number;
  /** Look into the cache, or are run. */
  running: number;
}

export const noCacheStageCounters = (): CacheStageCounters => ({ in: 0, out: 0, failed: 0, queued: 0, running: 0 });

/** Of the objects of a recorded answer, so that empty ones are bounded as well. */
const answerBytes = 256;

export interface ResponseCacheConfig {
  readonly spec: ModelSpec;
  readonly cache: ResponseCache;
  /** Differs where what was loaded differs; for a cache that is not shared, from load to load. */
  readonly contentId: string;
  readonly sink: EventSink;
  /** Milliseconds from any origin. */
  readonly scheduler: { now(): number };
  readonly log: Log;
  /** Written here, read by anyone. */
  readonly counters?: CacheStageCounters;
}

/**
 * Answers from the cache what was answered before, and lets the model run once for all that ask the same at one time.
 *
 * emits when      the cache has the answers: with the request's own id; else when the model answers
 * waits when      an equal request runs, or the cache has to fetch: as many as may wait in the model's queue
 * errors when     too many wait (UNAVAILABLE, REJECTED), or as the model does: see `SharedRun`
 * on unsubscribe  leaves; the last one that goes cancels the run
 * Whole answers are kept, those of decoupled models too, and never a failure, nor a stream with an error in it. Inputs over `largestKeyBytes` pass as if there was no cache.
 */
export const responseCache =
  (config: ResponseCacheConfig): Layer =>
  (next) => {
    const desk = new CacheDesk(config, next);
    return (request) => new Observable((caller) => desk.ask(request, caller));
  };

class CacheDesk implements RunOwner, AskerWatch {
  readonly next: Infer;
  readonly #config: ResponseCacheConfig;
  readonly #counters: CacheStageCounters;
  readonly #keyOf: (request: InferRequest) => RequestKey | undefined;
  readonly #areAlike: (a: InferRequest, b: InferRequest) => boolean;
  readonly #copy: ReturnType<typeof copyAnswer>;
  readonly #limit: number;
  /** Runs that others may join. */
  readonly #runs = new HashTable<SharedRun>();
  /** What all runs have recorded so far. */
  #recordedBytes = 0;
  readonly #due = new WaitingList<CacheAsker>();
  readonly #reports: CacheReports;
  #isDelivering = false;

  constructor(config: ResponseCacheConfig, next: Infer) {
    this.next = next;
    this.#config = config;
    this.#counters = config.counters ?? noCacheStageCounters();
    this.#reports = new CacheReports(config);
    this.#keyOf = cacheKeys(config);
    this.#areAlike = queuesAlike(config.spec);
    this.#copy = copyAnswer(config.spec);
    this.#limit = queueLimit(config.spec);
  }

  ask(request: InferRequest, caller: Subscriber<InferResponse>): void {
    const { scheduler, spec } = this.#config;
    const arrivedMs = scheduler.now();
    const key = this.#keyOf(request);
    if (key === undefined) {
      this.#reports.sayLargeRequest();
      caller.add(this.next(request).subscribe(caller));
      return;
    }
    const asker = new CacheAsker({ request, caller, key, arrivedMs, model: spec, watch: this });
    caller.add(asker);
    this.#counters.in++;
    const run = this.#find(asker);
    if (run !== undefined) this.#join(run, asker);
    else this.#lookUp(asker);
  }

  record(run: SharedRun, response: InferResponse): CachedAnswer | undefined {
    const { largestEntryBytes } = this.#config.cache;
    const answer = this.#copy(response, run.request.outputs, largestEntryBytes - this.#recordedBytes);
    if (answer === undefined) {
      this.#reports.sayLargeAnswer(run, response);
      return undefined;
    }
    const bytes = answer.memory.byteLength + answerBytes;
    run.recordedBytes += bytes;
    this.#recordedBytes += bytes;
    return answer;
  }

  /** An emission may bring more to deliver: the loop that runs already goes on with it, so that it never nests. */
  deliver(asker: CacheAsker): void {
    if (this.#isDelivering) {
      this.#due.push(asker);
      return;
    }
    this.#isDelivering = true;
    for (let each: CacheAsker | undefined = asker; each !== undefined; each = this.#due.shift()) each.pump();
    this.#isDelivering = false;
  }

  onLeads(asker: CacheAsker): void {
    if (asker.role !== 'joined') return;
    asker.role = 'leads';
    this.#counters.queued--;
    this.#counters.running++;
  }

  onWhole(run: SharedRun): void {
    this.#close(run);
    const { cache, scheduler } = this.#config;
    const beganMs = scheduler.now();
    const inserted = cache.insert(run.key, run.answers);
    if (inserted === undefined) this.#reports.inserted(run, beganMs);
    else void inserted.then(() => this.#reports.inserted(run, beganMs));
  }

  onDropped(run: SharedRun): void {
    this.#close(run);
    this.#reports.missed(run, 0);
  }

  onAnswered(asker: CacheAsker): void {
    this.#leave(asker, 'out');
    if (asker.role !== 'leads') this.#reports.answered(asker);
  }

  onFailed(asker: CacheAsker): void {
    this.#leave(asker, 'failed');
  }

  onCancelled(asker: CacheAsker): void {
    this.#leave(asker, 'failed');
    if (asker.source instanceof SharedRun) asker.source.leave(asker);
  }

  #find({ key, request }: CacheAsker): SharedRun | undefined {
    for (let run = this.#runs.first(key.hash); run !== undefined; run = run.nextInBucket) {
      if (run.key.matches(key) && this.#areAlike(run.request, request)) return run;
    }
    return undefined;
  }

  #join(run: SharedRun, asker: CacheAsker): void {
    if (this.#counters.queued >= this.#limit) {
      this.#counters.running++;
      const text = `${requestPrefix(asker.request.id)}Exceeds maximum queue size`;
      asker.finish(new InferError('UNAVAILABLE', text, { reason: 'REJECTED' }));
      return;
    }
    this.#counters.queued++;
    asker.role = 'joined';
    run.add(asker);
    if (run.answers.length > 0) this.deliver(asker);
  }

  #lookUp(asker: CacheAsker): void {
    this.#counters.running++;
    const found = this.#config.cache.lookup(asker.key);
    if (found instanceof Promise) {
      const run = this.#open(asker);
      void found.then((answers) => this.#onFetched(run, asker.arrivedMs, answers));
      return;
    }
    const lookupMs = this.#reports.lookedUp(asker.arrivedMs, found);
    if (found === undefined) {
      const run = this.#open(asker);
      run.missedAfterMs = lookupMs;
      run.start();
      return;
    }
    asker.role = 'hit';
    asker.lookupMs = lookupMs;
    asker.source = { answers: found, end: 'complete' };
    this.deliver(asker);
  }

  #open(asker: CacheAsker): SharedRun {
    const run = new SharedRun(this, asker);
    this.#runs.add(run);
    return run;
  }

  #onFetched(run: SharedRun, arrivedMs: number, answers: CachedAnswers | undefined): void {
    const lookupMs = this.#reports.lookedUp(arrivedMs, answers);
    if (answers === undefined) run.missedAfterMs = lookupMs;
    if (run.end !== undefined) {
      // Everybody has gone.
      this.#reports.missed(run, 0);
    } else if (answers === undefined) run.start();
    else run.find(answers, lookupMs);
  }

  #close(run: SharedRun): void {
    this.#runs.remove(run);
    this.#recordedBytes -= run.recordedBytes;
    run.recordedBytes = 0;
  }

  #leave(asker: CacheAsker, as: 'out' | 'failed'): void {
    if (asker.role === 'joined') this.#counters.queued--;
    else this.#counters.running--;
    this.#counters[as]++;
  }
}
