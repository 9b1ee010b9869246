import type { ScenarioGroup } from '../scenario.ts';
import { completion } from './completion.ts';
import { decoupled } from './decoupled.ts';
import { decoupledEnsembles } from './decoupled-ensembles.ts';
import { directSequences } from './direct-sequences.ts';
import { dynamicBatching } from './dynamic-batching.ts';
import { ensembleFailures } from './ensemble-failures.ts';
import { ensembles } from './ensembles.ts';
import { backlogHolds, heldRequests, heldSequences, holds } from './holds.ts';
import { iterative } from './iterative.ts';
import { loadErrors } from './load-errors.ts';
import { modelCalls } from './model-calls.ts';
import { oldestSequences } from './oldest-sequences.ts';
import { queuePolicies } from './queue-policies.ts';
import { rateLimits } from './rate-limits.ts';
import { responseCache } from './response-cache.ts';
import { warmUp } from './warm-up.ts';

/** Most of the time of a scenario is waiting. */
const lanes = 4;

/** Everything that is played, by how the servers are started for it. Few enough models in each that their processes fit a small machine. */
export const scenarioGroups: readonly ScenarioGroup[] = [
  { name: 'batching', lanes, scenarios: [...dynamicBatching, ...queuePolicies] },
  { name: 'sequences', lanes, scenarios: [...directSequences, ...oldestSequences, ...iterative] },
  { name: 'ensembles', lanes, scenarios: ensembles },
  { name: 'ensembles that fail', lanes, scenarios: ensembleFailures },
  { name: 'ensembles that answer many times', lanes, scenarios: decoupledEnsembles },
  { name: 'answers and calls', lanes, scenarios: [...decoupled, ...modelCalls] },
  {
    name: 'cache and warm-up',
    lanes,
    flags: ['--cache-config=local,size=1048576'],
    scenarios: [...responseCache, ...warmUp, ...completion],
  },
  { name: 'loads', lanes, flags: ['--cache-config=local,size=1048576'], scenarios: loadErrors },
  { name: 'holds', lanes, environment: { TRITONSERVER_DELAY_SCHEDULER: String(heldRequests) }, scenarios: holds },
  {
    name: 'holds of a backlog',
    lanes,
    environment: { TRITONSERVER_DELAY_SCHEDULER: String(heldRequests), TRITONSERVER_BACKLOG_DELAY_SCHEDULER: String(heldSequences) },
    scenarios: backlogHolds,
  },
  // All instances of a server share their resources.
  { name: 'limits', lanes: 1, flags: ['--rate-limit=execution_count'], scenarios: rateLimits },
];
