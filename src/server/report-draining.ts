import type { Log } from '../streams/inference/log.ts';
import type { ModelGraph } from '../streams/inference/model-graph.ts';

interface DrainingConfig {
  readonly log: Log;
  readonly seconds: number;
  readonly graphs: () => readonly ModelGraph[];
}

const inFlight = ({ stages }: ModelGraph): number => stages.reduce((sum, { queued, running }) => sum + queued + running, 0);

/** Says each second what a shutdown waits for, in Triton's lines. Call what it returns when the waiting is over. */
export const reportDraining = ({ log, seconds, graphs }: DrainingConfig): (() => void) => {
  let left = seconds;
  const report = (): void => {
    const busy = graphs().filter((graph) => inFlight(graph) > 0);
    log.info(`Timeout ${left}: Found ${busy.length} model versions that have in-flight inferences`);
    for (const graph of busy) log.info(`Model '${graph.model}' (version ${graph.version}) has ${inFlight(graph)} in-flight inferences`);
    left--;
  };
  log.info('Waiting for in-flight requests to complete.');
  report();
  const timer = setInterval(report, 1000);
  return () => clearInterval(timer);
};
