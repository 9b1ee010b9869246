import { Observable } from 'rxjs';
import type { Instance, ModelFiles, Placement } from '../../streams/inference/backend.ts';
import { toInferError } from '../../streams/inference/error.ts';
import type { ModelSpec } from '../../streams/inference/model-spec.ts';
import { type Environments, environmentParameter } from './find-python.ts';
import { InstanceLife, type PythonBackendParts } from './instance-life.ts';

/**
 * One life of a model's process.
 *
 * emits when      its `initialize` has returned, once
 * errors when     Python or numpy is missing, the model's code fails before it is ready, or the process has ended
 * completes       never
 * on unsubscribe  takes no more batches, lets the one that runs end, calls `finalize`, and kills the process when that takes too long
 */
export const openInstance = (
  files: ModelFiles,
  spec: ModelSpec,
  placement: Placement,
  parts: PythonBackendParts,
  environments: Environments,
): Observable<Instance> =>
  new Observable((subscriber) => {
    let life: InstanceLife | undefined;
    const start = async (): Promise<void> => {
      const interpreter = await environments.take(files, spec.parameters.get(environmentParameter));
      if (subscriber.closed) {
        interpreter.release();
        return;
      }
      life = new InstanceLife({
        files,
        spec,
        placement,
        interpreter,
        parts,
        onReady: (instance) => subscriber.next(instance),
        onFailed: (error) => subscriber.error(error),
      });
    };
    start().catch((error: unknown) => subscriber.error(toInferError(error)));
    return () => life?.stop();
  });
