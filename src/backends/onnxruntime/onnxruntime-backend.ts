import type { Backend } from '../../streams/inference/backend.ts';
import type { Log } from '../../streams/inference/log.ts';
import { describeModel } from './describe-model.ts';
import { openInstance } from './open-instance.ts';

export interface OnnxruntimeBackendConfig {
  /** `--backend-config` of this backend, merged with the global one: `intra_op_thread_count`, `inter_op_thread_count`. */
  readonly config: ReadonlyMap<string, string>;
  readonly log: Log;
}

/**
 * Serves ONNX models with ONNX Runtime, one worker thread for each instance: its `run` blocks the thread that calls it.
 *
 * Carries every datatype but BF16. Strings pass through JavaScript: requests whose strings hold NUL or are no UTF-8 are refused one by one; a
 * string that the model itself makes so is cut or mended by onnxruntime-node before it can be seen.
 */
export const onnxruntimeBackend = ({ config, log }: OnnxruntimeBackendConfig): Backend => {
  for (const key of config.keys()) {
    if (!knownSettings.has(key)) log.warning(`backend-config 'onnxruntime,${key}' is not known and has no effect`);
  }
  return {
    name: 'onnxruntime',
    needsModelFile: true,
    gathers: true,
    answersMany: false,
    describe: (files) => describeModel(files, log),
    open: (files, spec, placement) => openInstance(files, spec, placement, config),
  };
};

/** Those of this backend, and those that every backend is given and others read. */
const knownSettings: ReadonlySet<string> = new Set([
  'intra_op_thread_count',
  'inter_op_thread_count',
  'enable-global-threadpool',
  'auto-complete-config',
  'backend-directory',
  'default-max-batch-size',
  'min-compute-capability',
]);
