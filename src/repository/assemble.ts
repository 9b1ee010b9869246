import { type Observable, switchMap } from 'rxjs';
import type { BatchingChoices } from '../operators/batching/dynamic-batching.ts';
import { requestLayers } from '../operators/layers/request-layers.ts';
import type { RateLimiter } from '../operators/rate-limiter/rate-limiter.ts';
import type { RunModelConfig, RunningModel } from '../operators/run-model.ts';
import { runModel } from '../operators/run-model.ts';
import type { Scheduler } from '../streams/flow/clock.ts';
import { noOrderCounters } from '../streams/flow/in-order.ts';
import type { EventSink } from '../streams/inference/events.ts';
import type { Log } from '../streams/inference/log.ts';
import type { ResponseCache } from '../streams/inference/response-cache.ts';
import { cacheLayer } from './cache-layer.ts';
import { contentFingerprint } from './content-fingerprint.ts';
import { placementsOf } from './placements.ts';
import type { PreparedVersion } from './prepare-version.ts';

export type SchedulerHolds = Pick<BatchingChoices, 'holdUntilQueued' | 'holdUntilBacklogged'>;

export interface AssembleConfig {
  readonly sink: EventSink;
  readonly scheduler: Scheduler;
  readonly log: Log;
  /** Of the server, for the models that use one. */
  readonly cache?: ResponseCache | undefined;
  /** Of the server; undefined where resources and priorities of instances mean nothing. */
  readonly rateLimiter?: RateLimiter | undefined;
  /** See `BatchingChoices`. */
  readonly holds?: SchedulerHolds | undefined;
}

/** The graph of one version: its instances, its queue, the layers around. Subscribing loads it, unsubscribing unloads it. */
export const assemble = (prepared: PreparedVersion, options: AssembleConfig): Observable<RunningModel> => {
  const { spec, files, backend, strategy } = prepared;
  const { sink, scheduler, log, cache, rateLimiter, holds } = options;
  const ordering = noOrderCounters();
  const config: RunModelConfig = {
    spec,
    placements: placementsOf(spec.instanceGroups).map((placement) => ({ placement, open: () => backend.open(files, spec, placement) })),
    layers: requestLayers({ spec, sink, scheduler, ordering }),
    ordering,
    batching: { ...holds, strategy: strategy === undefined ? undefined : { strategy, log } },
    ...(rateLimiter === undefined ? {} : { rateLimiter }),
    sink,
    scheduler,
    log,
  };
  if (cache === undefined || !spec.usesCache) return runModel(config);
  return cacheLayer(spec, () => contentFingerprint(spec, files), { cache, sink, scheduler, log }).pipe(
    switchMap((cached) => runModel({ ...config, cache: cached })),
  );
};
