import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { median } from './median.ts';

/** Resident memory of a process; undefined for one that is gone. */
const residentMiB = (pid: number): number | undefined => {
  try {
    const found = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
    return found === null ? undefined : Number(found[1]) / 1024;
  } catch {
    return undefined;
  }
};

/** Sockets that a process has, those that listen included. */
export const socketCount = (pid: number): number => {
  const folder = `/proc/${pid}/fd`;
  let count = 0;
  for (const name of readdirSync(folder)) {
    try {
      if (readlinkSync(`${folder}/${name}`).startsWith('socket:')) count++;
    } catch {
      // Closed since it was listed.
    }
  }
  return count;
};

export interface Level {
  readonly earlyMiB: number;
  readonly lateMiB: number;
  readonly isLevel: boolean;
}

/** How much more the last third may have than the first. */
export const allowedGrowth = 0.1;

/** Whether memory stays level: the median of the last third of the samples is at most a tenth above that of the first third. */
export const levelOf = (samples: readonly number[]): Level => {
  const third = Math.max(1, Math.floor(samples.length / 3));
  const [earlyMiB, lateMiB] = [median(samples.slice(0, third)), median(samples.slice(-third))];
  return { earlyMiB, lateMiB, isLevel: lateMiB <= earlyMiB * (1 + allowedGrowth) };
};

/** Takes the resident memory of a process again and again until the signal aborts or the process is gone. */
export const sampleResident = async (pid: number, everyMs: number, signal: AbortSignal): Promise<readonly number[]> => {
  const samples: number[] = [];
  for (;;) {
    const now = residentMiB(pid);
    if (now === undefined) return samples;
    samples.push(now);
    try {
      await sleep(everyMs, undefined, { signal });
    } catch {
      return samples;
    }
  }
};
