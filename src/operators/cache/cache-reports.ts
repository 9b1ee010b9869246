import type { EventSink } from '../../streams/inference/events.ts';
import type { Log } from '../../streams/inference/log.ts';
import type { ModelSpec } from '../../streams/inference/model-spec.ts';
import { notInserted } from '../../streams/inference/not-inserted.ts';
import type { InferResponse } from '../../streams/inference/response.ts';
import type { CachedAnswers, ResponseCache } from '../../streams/inference/response-cache.ts';
import type { CacheAsker } from './cache-asker.ts';
import { largestKeyBytes } from './cache-keys.ts';
import type { SharedRun } from './shared-run.ts';

export interface CacheReportsConfig {
  readonly spec: Pick<ModelSpec, 'name' | 'version'>;
  readonly cache: ResponseCache;
  readonly sink: EventSink;
  /** Milliseconds from any origin. */
  readonly scheduler: { now(): number };
  readonly log: Log;
}

/** What a model's use of the cache is counted as: in the cache's own tally, in events, and in the log. */
export class CacheReports {
  readonly #config: CacheReportsConfig;
  #saidLargeRequest = false;
  #saidLargeAnswer = false;

  constructor(config: CacheReportsConfig) {
    this.#config = config;
  }

  /** Returns what looking took, the making of the key included. */
  lookedUp(arrivedMs: number, found: CachedAnswers | undefined): number {
    const { cache, scheduler } = this.#config;
    const lookupMs = scheduler.now() - arrivedMs;
    cache.tally.lookups++;
    cache.tally.lookupMs += lookupMs;
    if (found === undefined) cache.tally.misses++;
    else cache.tally.hits++;
    return lookupMs;
  }

  /** Without a run of its own. Who has joined that of another has waited for it, as in a queue, and finds the answer at once. */
  answered({ role, lookupMs, arrivedMs }: CacheAsker): void {
    const { cache, scheduler, sink, spec } = this.#config;
    const hasJoined = role === 'joined';
    if (hasJoined) {
      cache.tally.lookups++;
      cache.tally.hits++;
    }
    const queueMs = hasJoined ? scheduler.now() - arrivedMs : 0;
    sink({ kind: 'cache-answered', model: spec.name, version: spec.version, queueMs, lookupMs });
  }

  inserted(run: SharedRun, beganMs: number): void {
    const insertMs = this.#config.scheduler.now() - beganMs;
    this.#config.cache.tally.insertMs += insertMs;
    this.missed(run, insertMs);
  }

  /** Once for each look that missed. */
  missed(run: SharedRun, insertMs: number): void {
    const lookupMs = run.missedAfterMs;
    if (lookupMs === undefined) return;
    run.missedAfterMs = undefined;
    const { sink, spec } = this.#config;
    sink({ kind: 'cache-missed', model: spec.name, version: spec.version, lookupMs, insertMs });
  }

  sayLargeRequest(): void {
    if (this.#saidLargeRequest) return;
    this.#saidLargeRequest = true;
    const { log, spec } = this.#config;
    log.warning(`requests to model '${spec.name}' version ${spec.version} with more than ${largestKeyBytes} bytes are not cached`);
  }

  /** Not where it is only the others' recordings that leave no room. */
  sayLargeAnswer(run: SharedRun, { outputs }: InferResponse): void {
    const { cache, log } = this.#config;
    let bytes = run.recordedBytes;
    for (const { start, end } of outputs.values()) bytes += end - start;
    if (this.#saidLargeAnswer || bytes <= cache.largestEntryBytes) return;
    this.#saidLargeAnswer = true;
    log.warning(notInserted(run.key, bytes, cache));
  }
}
