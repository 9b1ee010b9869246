import type { Backend } from '../../streams/inference/backend.ts';
import type { CustomMetrics } from '../../streams/inference/custom-metrics.ts';
import type { Log } from '../../streams/inference/log.ts';
import type { ModelCalls } from '../../streams/inference/model-calls.ts';
import { completeConfig } from './complete-config.ts';
import { Environments } from './find-python.ts';
import type { PythonBackendParts } from './instance-life.ts';
import { openInstance } from './open-instance.ts';
import { readPythonSettings } from './python-settings.ts';

export interface PythonBackendConfig {
  /** What models' code calls other models through. */
  readonly calls: ModelCalls;
  readonly metrics: CustomMetrics;
  /** `--backend-config` of this backend: `pythonSettingNames`. */
  readonly settings: ReadonlyMap<string, string>;
  readonly log: Log;
}

/**
 * Serves Triton's Python models (`model.py` with a class TritonPythonModel), one process for each instance. Tensors lie in shared memory that both sides
 * map.
 *
 * @throws InferError INVALID_ARGUMENT for a setting that is none
 */
export const pythonBackend = ({ calls, metrics, settings, log }: PythonBackendConfig): Backend => {
  const parts: PythonBackendParts = { calls, metrics, log, settings: readPythonSettings(settings) };
  const environments = new Environments();
  return {
    name: 'python',
    needsModelFile: true,
    gathers: false,
    answersMany: true,
    completeConfig: (files, config) => completeConfig(files, config, parts, environments),
    describe: () => Promise.resolve(undefined),
    open: (files, spec, placement) => openInstance(files, spec, placement, parts, environments),
  };
};
