import type { ScenarioGroup } from '../scenario.ts';
import { completion } from './completion.ts';
import { decoupled } from './decoupled.ts';
import { dynamicBatching } from './dynamic-batching.ts';
import { ensembles } from './ensembles.ts';
import { heldRequests, holds } from './holds.ts';
import { iterative } from './iterative.ts';
import { loadErrors } from './load-errors.ts';
import { modelCalls } from './model-calls.ts';
import { queuePolicies } from './queue-policies.ts';
import { rateLimits } from './rate-limits.ts';
import { responseCache } from './response-cache.ts';
import { sequences } from './sequences.ts';
import { warmUp } from './warm-up.ts';

/** Everything that is played, by how the servers are started for it. Few enough models in each that their processes fit a small machine. */
export const scenarioGroups: readonly ScenarioGroup[] = [
  { name: 'batching', scenarios: [...dynamicBatching, ...queuePolicies] },
  { name: 'sequences', scenarios: [...sequences, ...iterative] },
  { name: 'ensembles', scenarios: ensembles },
  { name: 'answers and calls', scenarios: [...decoupled, ...modelCalls] },
  { name: 'cache and warm-up', flags: ['--cache-config=local,size=1048576'], scenarios: [...responseCache, ...warmUp, ...completion] },
  { name: 'loads', flags: ['--cache-config=local,size=1048576'], scenarios: loadErrors },
  { name: 'holds', environment: { TRITONSERVER_DELAY_SCHEDULER: String(heldRequests) }, scenarios: holds },
  { name: 'limits', flags: ['--rate-limit=execution_count'], scenarios: rateLimits },
];
