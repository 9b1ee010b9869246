import { readFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { machineScheduler } from '../streams/flow/clock.ts';

export interface CpuUsage {
  /** Share of all processors' time that was not idle since the sample before, 0 to 1. */
  readonly utilization: number;
  readonly memoryTotalBytes: number;
  /** What is not available to programs. */
  readonly memoryUsedBytes: number;
}

export interface CpuMeter {
  /** Undefined where the machine does not tell: anything but Linux. */
  sample(): Promise<CpuUsage | undefined>;
}

interface CpuMeterConfig {
  /** Samples asked for in shorter succession are answered with the last one, since over a short time utilization is noise. */
  readonly shortestIntervalMs: number;
}

interface CpuTimes {
  readonly busyMs: number;
  readonly totalMs: number;
}

const cpuTimes = (): CpuTimes => {
  let busyMs = 0;
  let idleMs = 0;
  for (const { times } of cpus()) {
    busyMs += times.user + times.nice + times.sys + times.irq;
    idleMs += times.idle;
  }
  return { busyMs, totalMs: busyMs + idleMs };
};

const utilization = (before: CpuTimes, now: CpuTimes): number => {
  const totalMs = now.totalMs - before.totalMs;
  return totalMs <= 0 ? 0 : Math.min(1, Math.max(0, (now.busyMs - before.busyMs) / totalMs));
};

/** Bytes of a line of `/proc/meminfo`, which counts in units of 1,024 bytes whatever it says. */
const bytesOf = (meminfo: string, field: string): number => {
  const kibibytes = new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(meminfo)?.[1];
  return Number(kibibytes ?? 0) * 1024;
};

/** Measures when it is asked: no timer. */
export const createCpuMeter = ({ shortestIntervalMs }: CpuMeterConfig): CpuMeter => {
  let timesBefore = cpuTimes();
  let sampledAtMs = Number.NEGATIVE_INFINITY;
  let last: Promise<CpuUsage | undefined> | undefined;

  const measure = async (): Promise<CpuUsage | undefined> => {
    const times = cpuTimes();
    const share = utilization(timesBefore, times);
    timesBefore = times;
    const meminfo = await readFile('/proc/meminfo', 'utf8').catch(() => undefined);
    if (meminfo === undefined) return undefined;
    const memoryTotalBytes = bytesOf(meminfo, 'MemTotal');
    return { utilization: share, memoryTotalBytes, memoryUsedBytes: memoryTotalBytes - bytesOf(meminfo, 'MemAvailable') };
  };

  return {
    sample: () => {
      const nowMs = machineScheduler.now();
      if (last !== undefined && nowMs - sampledAtMs < shortestIntervalMs) return last;
      sampledAtMs = nowMs;
      last = measure();
      return last;
    },
  };
};
