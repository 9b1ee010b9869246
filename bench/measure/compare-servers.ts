import type { Load, LoadResult } from '../load/load.ts';
import { inTurn } from './in-turn.ts';
import { loadBlock } from './load-block.ts';

/** One load of each server, neighbours in time. */
export interface Pair {
  readonly weir: LoadResult;
  readonly echo: LoadResult;
}

export interface CompareConfig {
  readonly weir: Pick<Load, 'port' | 'serverPid'>;
  readonly echo: Pick<Load, 'port' | 'serverPid'>;
  readonly load: Omit<Load, 'port' | 'serverPid' | 'serverCore' | 'answeredBy'>;
  readonly rounds: number;
}

/** Loads two servers in turn, A B B A. Rejects when a request of either failed. */
export const compareServers = async ({ weir, echo, load, rounds }: CompareConfig): Promise<readonly Pair[]> => {
  const pairs = await inTurn(
    rounds,
    () => loadBlock({ ...load, ...weir, answeredBy: 'model' }),
    () => loadBlock({ ...load, ...echo, answeredBy: 'echo' }),
  );
  return pairs.map(([first, second]) => ({ weir: first, echo: second }));
};
