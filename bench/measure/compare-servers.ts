import { join } from 'node:path';
import type { Load, LoadResult } from '../load/load.ts';
import { askProcess } from './ask-process.ts';
import { isPinned, loadCore, serverCore } from './pinned.ts';

const loadScript = join(import.meta.dirname, '..', 'load', 'main.ts');

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

const problemOf = ({ failed, hung, fault, answered }: LoadResult): string | undefined => {
  if (failed > 0) return `${failed} requests failed: ${fault}`;
  if (hung > 0) return `${hung} requests had no answer`;
  return answered === 0 ? 'no request was answered' : undefined;
};

/** Loads two servers in turn, A B B A. Rejects when a request of either failed. */
export const compareServers = async ({ weir, echo, load, rounds }: CompareConfig): Promise<readonly Pair[]> => {
  const run = async (answeredBy: Load['answeredBy']): Promise<LoadResult> => {
    const target = answeredBy === 'model' ? weir : echo;
    const whole: Load = { ...load, ...target, answeredBy, serverCore: isPinned ? serverCore : -1 };
    const result = await askProcess<LoadResult>(loadScript, whole, loadCore);
    const problem = problemOf(result);
    if (problem !== undefined) throw new Error(`${load.protocol} ${answeredBy}: ${problem}`);
    return result;
  };
  const pairs: Pair[] = [];
  for (let round = 0; round < rounds; round++) {
    if (round % 2 === 0) {
      const first = await run('model');
      pairs.push({ weir: first, echo: await run('echo') });
    } else {
      const first = await run('echo');
      pairs.push({ weir: await run('model'), echo: first });
    }
  }
  return pairs;
};
