import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

export const serverCore = 0;
export const loadCore = 1;

const canPin = (): boolean =>
  availableParallelism() > loadCore &&
  [serverCore, loadCore].every((core) => spawnSync('taskset', ['-c', String(core), 'true'], { stdio: 'ignore' }).status === 0);

/** Whether server and load get a core each. */
export const isPinned = canPin();

/** What to say of it. */
export const pinnedNote = isPinned
  ? `server on core ${serverCore}, load on core ${loadCore}`
  : 'not pinned, since taskset or a second core is missing: server and load wherever the system puts them';

/** A command with its arguments, on one core where that can be had; `undefined` for wherever the system puts it. */
export const onCore = (core: number | undefined, command: readonly string[]): readonly string[] =>
  isPinned && core !== undefined ? ['taskset', '-c', String(core), ...command] : command;
