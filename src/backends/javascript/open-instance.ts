import { Observable } from 'rxjs';
import type { Instance, ModelFiles, Placement } from '../../streams/inference/backend.ts';
import { toInferError } from '../../streams/inference/error.ts';
import type { Log } from '../../streams/inference/log.ts';
import type { ModelCalls } from '../../streams/inference/model-calls.ts';
import type { ModelSpec } from '../../streams/inference/model-spec.ts';
import { JavascriptInstance } from './instance.ts';
import type { MetricTable } from './metric-table.ts';
import { modelPorts } from './model-ports.ts';
import { modelSettings } from './model-settings.ts';

export interface OpenInstanceConfig {
  readonly calls: ModelCalls;
  readonly metrics: MetricTable;
  readonly log: Log;
}

/**
 * One life of a model in a worker thread.
 *
 * emits when      `load` has ended, once
 * errors when     a parameter cannot be, the file cannot be imported or is no model, `load` fails, or the thread has died or was ended for a time-out
 * completes       never
 * on unsubscribe  takes no more batches, lets those under way end, unloads the model, and ends the thread
 */
export const openInstance = (
  { modelDirectory, versionDirectory, modelFile }: ModelFiles,
  spec: ModelSpec,
  { name, kind, device }: Placement,
  config: OpenInstanceConfig,
): Observable<Instance> =>
  new Observable((subscriber) => {
    try {
      const instance = new JavascriptInstance({
        ...config,
        modelName: spec.name,
        modelVersion: spec.version,
        config: spec.config,
        parameters: spec.parameters,
        instance: { name, kind, device },
        modelDirectory,
        versionDirectory,
        modelFile,
        ports: modelPorts(spec),
        settings: modelSettings(spec.parameters),
        onReady: () => subscriber.next(instance),
        onFailed: (error) => subscriber.error(error),
      });
      return () => instance.stop();
    } catch (error) {
      subscriber.error(toInferError(error));
      return undefined;
    }
  });
