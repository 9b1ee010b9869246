import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { sampleResident } from '../measure/memory.ts';

/** What a process has when it is at rest. */
interface Settled {
  readonly handles: readonly string[];
  readonly heapUsed: number;
  readonly external: number;
}

export interface Cycles {
  readonly first: Settled;
  readonly after: Settled;
  /** Names of the threads that are left. */
  readonly threads: readonly string[];
  /** While it went on. */
  readonly residentMiB: readonly number[];
}

const sampleMs = 500;

/** Starts and stops a server so many times in one process, with work on every way in. Rejects when the process does not end by itself. */
export const runCycles = async (count: number): Promise<Cycles> => {
  const child = spawn(process.execPath, ['--expose-gc', join(import.meta.dirname, 'child.ts'), String(count)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const over = new AbortController();
  const sampling = sampleResident(child.pid ?? 0, sampleMs, over.signal);
  const [printed, [code, signal]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  over.abort();
  if (code !== 0) throw new Error(`the cycles ended with ${code ?? signal}`);
  const [memory = '', threads = ''] = printed.trim().split('\n');
  return { ...JSON.parse(memory), threads: JSON.parse(threads), residentMiB: await sampling };
};
