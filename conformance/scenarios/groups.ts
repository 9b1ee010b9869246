import type { ScenarioGroup } from '../scenario.ts';
import { dynamicBatching } from './dynamic-batching.ts';

/** Everything that is played, by how the servers are started for it. */
export const scenarioGroups: readonly ScenarioGroup[] = [{ name: 'batching', scenarios: dynamicBatching }];
