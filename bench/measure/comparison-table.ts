import { table } from './markdown.ts';
import type { ServerSummary, Summary } from './summarise.ts';

const whole = (value: number): string => value.toFixed(0);
const hundredths = (value: number): string => value.toFixed(2);

const latency = ({ p50Ms, p99Ms }: ServerSummary): string => `${hundredths(p50Ms)} / ${hundredths(p99Ms)}`;

const marks = ({ weir, echo, isNoisy }: Summary): string =>
  [...(weir.isGeneratorBusy ? ['g'] : []), ...(echo.isGeneratorBusy ? ['G'] : []), ...(isNoisy ? ['~'] : [])].join(' ');

/** How a rate is shown: requests, or bytes. */
export interface RateColumn {
  readonly heading: string;
  of(requestsPerSecond: number): number;
}

const legend = [
  `Ratios are medians over pairs of neighbouring blocks: what part of the echo's requests Weir answers, by time and by processor time of the server (all its threads); in brackets the`,
  'lowest and the highest pair. `g`, `G`: the load generator was the limit (for Weir, for the echo); throughput and latencies say little then, processor time does. `~`: other processes had more than 5 % of',
  `the server's core in every pair.`,
].join('\n');

export const comparisonTable = (summaries: readonly Summary[], { heading, of }: RateColumn): string => {
  const columns = [
    'protocol',
    `Weir ${heading}`,
    `echo ${heading}`,
    'throughput',
    'Weir CPU µs',
    'echo CPU µs',
    'by CPU',
    'Weir p50 / p99 ms',
    'echo p50 / p99 ms',
    '',
  ];
  const rows = summaries.map((each) => [
    each.title,
    whole(of(each.weir.rate)),
    whole(of(each.echo.rate)),
    `**${hundredths(each.throughputRatio)}**`,
    each.weir.cpuUs.toFixed(1),
    each.echo.cpuUs.toFixed(1),
    `**${hundredths(each.cpuRatio)}** [${hundredths(each.lowestCpuRatio)}, ${hundredths(each.highestCpuRatio)}]`,
    latency(each.weir),
    latency(each.echo),
    marks(each),
  ]);
  return `${table(columns, rows)}\n\n${legend}`;
};
