import { dynaSequenceBackend, sequenceBackend } from '../backends/accumulator/accumulator-backend.ts';
import { identityBackend } from '../backends/identity/identity-backend.ts';
import { javascriptBackend } from '../backends/javascript/javascript-backend.ts';
import { onnxruntimeBackend } from '../backends/onnxruntime/onnxruntime-backend.ts';
import { pythonBackend } from '../backends/python/python-backend.ts';
import { repeatBackend } from '../backends/repeat/repeat-backend.ts';
import { squareBackend } from '../backends/square/square-backend.ts';
import type { Backend } from '../streams/inference/backend.ts';
import type { CustomMetrics } from '../streams/inference/custom-metrics.ts';
import type { ModelCalls } from '../streams/inference/model-calls.ts';
import type { ServerLog } from '../telemetry/log.ts';
import { settingsOfBackend } from './backend-settings.ts';
import type { BackendSetting } from './settings.ts';

export interface BackendsConfig {
  readonly settings: readonly BackendSetting[];
  readonly calls: ModelCalls;
  readonly metrics: CustomMetrics;
  readonly log: ServerLog;
}

/**
 * Every backend of the server.
 *
 * @throws InferError INVALID_ARGUMENT for a bad setting
 */
export const backends = ({ settings, calls, metrics, log }: BackendsConfig): readonly Backend[] => [
  onnxruntimeBackend({ config: settingsOfBackend(settings, 'onnxruntime'), log: log.named('onnxruntime') }),
  pythonBackend({ settings: settingsOfBackend(settings, 'python'), calls, metrics, log: log.named('python') }),
  javascriptBackend({ calls, metrics, log: log.named('javascript') }),
  identityBackend(),
  repeatBackend(),
  squareBackend(),
  sequenceBackend(),
  dynaSequenceBackend(),
];
