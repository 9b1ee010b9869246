import type { Backend } from '../../streams/inference/backend.ts';
import type { CustomMetrics } from '../../streams/inference/custom-metrics.ts';
import type { Log } from '../../streams/inference/log.ts';
import type { ModelCalls } from '../../streams/inference/model-calls.ts';
import { completeConfig } from './complete-config.ts';
import { MetricTable } from './metric-table.ts';
import { openInstance } from './open-instance.ts';

export interface JavascriptBackendConfig {
  readonly calls: ModelCalls;
  readonly metrics: CustomMetrics;
  readonly log: Log;
}

/**
 * Serves models written in JavaScript or TypeScript, one worker thread for each instance: see `docs/javascript-models.md`. The file is imported
 * anew whenever an instance is opened, with all that it imports.
 */
export const javascriptBackend = ({ calls, metrics, log }: JavascriptBackendConfig): Backend => {
  const table = new MetricTable(metrics);
  return {
    name: 'javascript',
    needsModelFile: true,
    gathers: false,
    answersMany: true,
    completeConfig: (files, config) => completeConfig(files, config, log),
    // What such a model takes and gives only its config tells, which its own code may complete.
    describe: () => Promise.resolve(undefined),
    open: (files, spec, placement) => openInstance(files, spec, placement, { calls, metrics: table, log }),
  };
};
