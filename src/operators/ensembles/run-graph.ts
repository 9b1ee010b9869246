import { Observable } from 'rxjs';
import type { Infer, Layer } from '../../streams/inference/infer.ts';
import { layers } from '../../streams/inference/infer.ts';
import type { CacheStageCounters } from '../cache/response-cache.ts';
import { Door } from '../door.ts';
import type { RunningModel } from '../run-model.ts';
import { stoppingError } from '../stopping-error.ts';
import type { EnsembleConfig } from './ensemble.ts';
import { Ensemble } from './ensemble.ts';
import { ensembleEdges } from './ensemble-edges.ts';
import { answersMany } from './ensemble-graph.ts';
import { EnsembleRun } from './ensemble-run.ts';

export interface RunGraphConfig extends EnsembleConfig {
  /** Around the ensemble, the outermost first. */
  readonly layers: readonly Layer[];
  /** Innermost of the layers, behind the door that closes when the ensemble drains; undefined for one without a cache. */
  readonly cache?: { readonly layer: Layer; readonly counters: CacheStageCounters } | undefined;
}

/**
 * Runs an ensemble: its graph is built once, and each request brings the rows of its tensors. A step asks its model once for each row that has all of the
 * step's inputs; it begins no other, and what runs is cancelled, once one has failed.
 *
 * emits           the ensemble, at once
 * completes       never
 * on unsubscribe  fails with UNAVAILABLE what goes on, and cancels its steps
 * An answer leaves when every wanted output of its row is there, in the order of the rows; tensors that outlive the call that brings them are copied once. A
 * model that answers many times is told to wait while too many of its answers wait for later steps.
 */
export const runGraph = (config: RunGraphConfig): Observable<RunningModel> =>
  new Observable((subscriber) => {
    const { graph, models, waitOrder, cache } = config;
    const door = new Door();
    const ensemble = new Ensemble(config);
    const ask: Infer = (request) =>
      new Observable((caller) => {
        const run = new EnsembleRun(ensemble, request, caller);
        caller.add(run);
        ensemble.begin(run);
      });
    const isReady = (): boolean =>
      graph.steps.every(({ modelName, modelVersion }) => {
        try {
          return models.find(modelName, modelVersion).isReady();
        } catch {
          return false;
        }
      });
    subscriber.add(waitOrder.add(graph.steps.map(({ waits }) => waits)));
    subscriber.add(() => {
      door.close();
      ensemble.stop(stoppingError);
    });
    subscriber.next({
      infer: layers(config.layers)(door.around(cache === undefined ? ask : cache.layer(ask))),
      isReady,
      drain: () => door.drain(),
      hold: () => door.hold(),
      release: () => door.release(),
      graph: () => ({
        model: graph.name,
        version: graph.version,
        stages: [...(cache === undefined ? [] : [{ name: 'cache', ...cache.counters, limit: config.maxQueueSize }]), ...ensemble.stages()],
        edges: ensembleEdges(graph, cache === undefined ? 'request' : 'cache'),
        ...(answersMany(graph) ? { queues: ensemble.queues() } : {}),
        instances: { total: 0, alive: 0, busy: 0 },
      }),
    });
  });
