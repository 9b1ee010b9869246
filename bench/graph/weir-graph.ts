import { Subscription } from 'rxjs';
import type { RunningModel } from '../../src/operators/run-model.ts';
import { assemble } from '../../src/repository/assemble.ts';
import { machineScheduler } from '../../src/streams/flow/clock.ts';
import type { Backend } from '../../src/streams/inference/backend.ts';
import type { ModelSpec } from '../../src/streams/inference/model-spec.ts';
import { createStatistics } from '../../src/telemetry/statistics.ts';
import type { Engine } from './engine.ts';

const silent = { error: () => {}, warning: () => {}, info: () => {}, verbose: () => {} };

/** A model's graph as the server builds it, without a server: layers, queue, instance, statistics. */
export const startWeirGraph = async (spec: ModelSpec, backend: Backend): Promise<Engine> => {
  const statistics = createStatistics();
  const files = { modelName: spec.name, modelDirectory: '', versionDirectory: '', modelFile: '' };
  const lifetime = new Subscription();
  const model = await new Promise<RunningModel>((resolve, reject) => {
    const model$ = assemble({ spec, files, backend, warnings: [] }, { sink: statistics.sink, scheduler: machineScheduler, log: silent });
    lifetime.add(model$.subscribe({ next: resolve, error: reject }));
  });
  return {
    ask: (request, caller) => model.infer(request).subscribe(caller),
    counted: () => statistics.counters(spec.name, spec.version).success,
    stop: () => lifetime.unsubscribe(),
  };
};
