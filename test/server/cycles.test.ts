import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

interface Settled {
  readonly handles: readonly string[];
  readonly heapUsed: number;
}

const cycles = 20;
const leakPerCycleBytes = 512 * 1024;

it('leaves no timer, socket or thread behind, and no growing memory, however often it starts and stops', async () => {
  const script = join(import.meta.dirname, 'cycles.ts');
  // It ends by itself only when nothing is left that keeps a process alive.
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', script, String(cycles)], { timeout: 120_000 });
  const { first, after }: Record<'first' | 'after', Settled> = JSON.parse(stdout);
  // Its own output is a pipe to here.
  expect(after.handles.filter((name) => name !== 'PipeWrap')).toEqual([]);
  expect(after.heapUsed - first.heapUsed).toBeLessThan(cycles * leakPerCycleBytes);
}, 150_000);
