import { Observable } from 'rxjs';
import type { Instance, ModelFiles, Placement } from '../../streams/inference/backend.ts';
import { InferError, toInferError } from '../../streams/inference/error.ts';
import type { ModelSpec } from '../../streams/inference/model-spec.ts';
import { cudaHint, requireGpu } from './gpu-devices.ts';
import { OnnxInstance } from './instance.ts';
import { modelPath } from './model-path.ts';
import { modelPorts } from './model-ports.ts';
import { sessionOptions } from './session-options.ts';

/**
 * One life of a session in a worker thread.
 *
 * emits when      the session is there, once
 * errors when     the config asks for what cannot be done, the file is missing or refused, or the worker has died
 * completes       never
 * on unsubscribe  takes no more batches, lets those under way end, then ends the thread, which gives the session's memory back
 */
export const openInstance = (
  files: ModelFiles,
  spec: ModelSpec,
  placement: Placement,
  backendConfig: ReadonlyMap<string, string>,
): Observable<Instance> =>
  new Observable((subscriber) => {
    let instance: OnnxInstance | undefined;
    const start = async (): Promise<void> => {
      const ports = modelPorts(spec);
      const options = sessionOptions(spec, placement, backendConfig);
      await requireGpu(spec, placement);
      const path = await modelPath(files);
      if (subscriber.closed) return;
      const opened = new OnnxInstance({
        name: placement.name,
        path,
        options,
        ports,
        onReady: () => subscriber.next(opened),
        onFailed: (error) => subscriber.error(placement.kind === 'GPU' ? hinted(error) : error),
      });
      instance = opened;
    };
    start().catch((error: unknown) => subscriber.error(toInferError(error)));
    return () => instance?.stop();
  });

const hinted = (error: InferError): InferError =>
  new InferError(error.code, cudaHint(error.message), { cause: error, reason: error.reason });
