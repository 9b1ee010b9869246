import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { median } from '../measure/median.ts';

/** Resident memory of a process; undefined for one that is gone. */
export const residentMiB = (pid: number): number | undefined => {
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
