import type { LoadResult } from '../load/load.ts';
import type { Pair } from './compare-servers.ts';
import { median } from './median.ts';

/** A block is noisy when other processes had more than this of the server's core. */
const noisyShare = 0.05;
/** Of its core. Above it the generator is the limit, not the server. */
const busyShare = 0.9;

const rate = ({ answered, seconds }: LoadResult): number => answered / seconds;

const isQuiet = ({ weir, echo }: Pair): boolean => weir.otherShare <= noisyShare && echo.otherShare <= noisyShare;

/** What the pairs of one contest say together; noisy ones are left out where there are quiet ones. */
export interface Summary {
  readonly title: string;
  readonly weir: ServerSummary;
  readonly echo: ServerSummary;
  /** Medians of the pairs' ratios: Weir's part of the echo's requests, by time and by processor time. */
  readonly throughputRatio: number;
  readonly cpuRatio: number;
  readonly lowestCpuRatio: number;
  readonly highestCpuRatio: number;
  readonly isNoisy: boolean;
}

export interface ServerSummary {
  readonly rate: number;
  readonly cpuUs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly isGeneratorBusy: boolean;
}

const summaryOf = (results: readonly LoadResult[]): ServerSummary => ({
  rate: median(results.map(rate)),
  cpuUs: median(results.map(({ serverCpuUs }) => serverCpuUs)),
  p50Ms: median(results.map(({ p50Ms }) => p50Ms)),
  p99Ms: median(results.map(({ p99Ms }) => p99Ms)),
  isGeneratorBusy: median(results.map(({ generatorShare }) => generatorShare)) > busyShare,
});

export const summarise = (title: string, all: readonly Pair[]): Summary => {
  const quiet = all.filter(isQuiet);
  const pairs = quiet.length > 0 ? quiet : all;
  const cpuRatios = pairs.map(({ weir, echo }) => echo.serverCpuUs / weir.serverCpuUs);
  return {
    title,
    weir: summaryOf(pairs.map(({ weir }) => weir)),
    echo: summaryOf(pairs.map(({ echo }) => echo)),
    throughputRatio: median(pairs.map(({ weir, echo }) => rate(weir) / rate(echo))),
    cpuRatio: median(cpuRatios),
    lowestCpuRatio: Math.min(...cpuRatios),
    highestCpuRatio: Math.max(...cpuRatios),
    isNoisy: quiet.length === 0,
  };
};
