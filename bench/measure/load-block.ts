import { join } from 'node:path';
import type { Load, LoadResult } from '../load/load.ts';
import { askProcess } from './ask-process.ts';
import { isPinned, loadCore, serverCore } from './pinned.ts';

const loadScript = join(import.meta.dirname, '..', 'load', 'main.ts');

const problemOf = ({ failed, hung, fault, answered }: LoadResult): string | undefined => {
  if (failed > 0) return `${failed} requests failed: ${fault}`;
  if (hung > 0) return `${hung} requests had no answer`;
  return answered === 0 ? 'no request was answered' : undefined;
};

/** One load of a server that has a core to itself. Rejects when a request failed. */
export const loadBlock = async (load: Omit<Load, 'serverCore'>): Promise<LoadResult> => {
  const whole: Load = { ...load, serverCore: isPinned ? serverCore : -1 };
  const result = await askProcess<LoadResult>(loadScript, whole, loadCore);
  const problem = problemOf(result);
  if (problem !== undefined) throw new Error(`${load.protocol} ${load.answeredBy}: ${problem}`);
  return result;
};
