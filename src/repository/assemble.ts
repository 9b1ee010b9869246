import type { Observable } from 'rxjs';
import { requestLayers } from '../operators/request-layers.ts';
import type { RunningModel } from '../operators/run-model.ts';
import { runModel } from '../operators/run-model.ts';
import type { Scheduler } from '../streams/flow/clock.ts';
import type { EventSink } from '../streams/inference/events.ts';
import type { Log } from '../streams/inference/log.ts';
import { placementsOf } from './placements.ts';
import type { PreparedVersion } from './prepare-version.ts';

export interface AssembleConfig {
  readonly sink: EventSink;
  readonly scheduler: Scheduler;
  readonly log: Log;
}

/** The graph of one version: its instances, its queue, the layers around. Subscribing loads it, unsubscribing unloads it. */
export const assemble = ({ spec, files, backend }: PreparedVersion, { sink, scheduler, log }: AssembleConfig): Observable<RunningModel> =>
  runModel({
    spec,
    placements: placementsOf(spec.instanceGroups).map((placement) => ({ placement, open: () => backend.open(files, spec, placement) })),
    layers: requestLayers({ spec, sink, scheduler }),
    sink,
    scheduler,
    log,
  });
