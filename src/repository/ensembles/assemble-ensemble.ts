import { createHash } from 'node:crypto';
import { type Observable, switchMap } from 'rxjs';
import type { StepModels } from '../../operators/ensembles/ensemble.ts';
import { type RunGraphConfig, runGraph } from '../../operators/ensembles/run-graph.ts';
import type { WaitOrder } from '../../operators/ensembles/wait-order.ts';
import { requestLayers } from '../../operators/layers/request-layers.ts';
import type { RunningModel } from '../../operators/run-model.ts';
import { epochMs, type Scheduler } from '../../streams/flow/clock.ts';
import type { EventSink } from '../../streams/inference/events.ts';
import type { Log } from '../../streams/inference/log.ts';
import type { ResponseCache } from '../../streams/inference/response-cache.ts';
import { cacheLayer } from '../cache-layer.ts';
import { contentFingerprint } from '../content-fingerprint.ts';
import type { PreparedEnsemble } from './prepare-ensemble.ts';

export interface AssembleEnsembleConfig {
  readonly stepModels: StepModels;
  readonly waitOrder: WaitOrder;
  readonly sink: EventSink;
  readonly scheduler: Scheduler;
  readonly log: Log;
  /** Of the server, for the models that use one. */
  readonly cache?: ResponseCache | undefined;
}

/** Triton counts a request of an ensemble that fails twice: when its error is sent, and when it is let go. Dashboards reckon with it. */
const countFailuresTwice =
  (sink: EventSink): EventSink =>
  (event) => {
    sink(event);
    if (event.kind === 'request-ended' && event.failure === 'OTHER') sink(event);
  };

/** What the ensemble is made of: its own files, and what its models are. */
export const ensembleFingerprint = async ({ spec, files, models }: PreparedEnsemble): Promise<string> => {
  const parts = await Promise.all([contentFingerprint(spec, files), ...models.map(({ fingerprint }) => fingerprint())]);
  return createHash('sha256').update(parts.join()).digest('hex');
};

/** The graph of one version of an ensemble, and the layers around. Subscribing loads it, unsubscribing unloads it. */
export const assembleEnsemble = (prepared: PreparedEnsemble, options: AssembleEnsembleConfig): Observable<RunningModel> => {
  const { spec, graph } = prepared;
  const { stepModels, waitOrder, sink, scheduler, log, cache } = options;
  const config: RunGraphConfig = {
    graph,
    models: stepModels,
    waitOrder,
    maxQueueSize: spec.maxQueueSize,
    layers: requestLayers({ spec, sink: countFailuresTwice(sink), scheduler }),
    sink,
    log,
    epochMs,
  };
  if (cache === undefined || !spec.usesCache) return runGraph(config);
  const fingerprint = (): Promise<string> => ensembleFingerprint(prepared);
  return cacheLayer(spec, fingerprint, { cache, sink, scheduler, log }).pipe(switchMap((cached) => runGraph({ ...config, cache: cached })));
};
