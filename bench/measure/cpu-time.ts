import { readdirSync, readFileSync } from 'node:fs';

/** One tick of /proc is 10 ms: USER_HZ is 100 on Linux. */
const tickMs = 10;

const fieldsOf = (text: string): readonly string[] => text.trim().split(/\s+/);

/** User and system time of a process, all its threads, in steps of 10 ms. */
export const processCpuMs = (pid: number): number => {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name, which is in brackets, may hold anything; utime and stime are fields 14 and 15, the state behind the name is field 3.
  const fields = fieldsOf(stat.slice(stat.lastIndexOf(')') + 1));
  return (Number(fields[11]) + Number(fields[12])) * tickMs;
};

const childrenOf = (pid: number): readonly number[] =>
  readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number),
  );

/** The same of a process and all that descend from it and run. */
export const treeCpuMs = (pid: number): number => {
  let sum = processCpuMs(pid);
  for (const child of childrenOf(pid)) sum += treeCpuMs(child);
  return sum;
};

/** User, nice, system and stolen time of one core. Interrupts are left out: they belong to whoever is served. */
export const coreBusyMs = (core: number): number => {
  const line = readFileSync('/proc/stat', 'utf8')
    .split('\n')
    .find((each) => each.startsWith(`cpu${core} `));
  const fields = fieldsOf(line ?? '').map(Number);
  return ((fields[1] ?? 0) + (fields[2] ?? 0) + (fields[3] ?? 0) + (fields[8] ?? 0)) * tickMs;
};
