import { table } from '../measure/markdown.ts';

/** What the harness says of one server under one load; `error` where it could not be measured. */
interface PeerSummary {
  readonly error?: string;
  readonly cpu_us?: number;
  readonly rate?: number;
  readonly p50_ms?: number;
  readonly p99_ms?: number;
  /** The load generator was the limit. */
  readonly gen_bound?: boolean;
  /** Blocks without noise. */
  readonly quiet?: number;
  readonly deaths?: number;
  readonly 'cpu_us / triton'?: PeerRatio | null;
  readonly 'rate / triton'?: PeerRatio | null;
}

interface PeerRatio {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

/** The part of the harness' JSON that is read here. */
export interface PeerReport {
  readonly table: Readonly<Record<string, Readonly<Record<string, PeerSummary>>>>;
  readonly cut?: string;
}

const fixed = (value: number | undefined, digits: number): string => value?.toFixed(digits) ?? '';

const ratioText = (ratio: PeerRatio | null | undefined): string =>
  ratio === null || ratio === undefined ? '' : `**${fixed(ratio.median, 2)}** [${fixed(ratio.low, 2)}, ${fixed(ratio.high, 2)}]`;

const latencies = ({ p50_ms, p99_ms }: PeerSummary): string => (p50_ms === undefined ? '' : `${fixed(p50_ms, 2)} / ${fixed(p99_ms, 2)}`);

const marksOf = (name: string, { error, gen_bound: isGeneratorBound, quiet, deaths = 0 }: PeerSummary): readonly string[] => [
  ...(error === undefined ? [] : [`${name}: ${error.slice(0, 60)}`]),
  ...(isGeneratorBound === true ? [`${name}: g`] : []),
  ...(quiet === 0 ? [`${name}: ~`] : []),
  ...(deaths > 0 ? [`${name} died ${deaths} times`] : []),
];

const columns = [
  'work',
  'CPU, Weir / Triton',
  'requests, Weir / Triton',
  'Weir CPU µs',
  'Triton CPU µs',
  'Weir req/s',
  'Triton req/s',
  'Weir p50 / p99 ms',
  'Triton p50 / p99 ms',
  '',
];

const missing: PeerSummary = { error: 'not measured' };

export const peerTable = (report: PeerReport): string => {
  const rows = Object.entries(report.table).map(([work, { weir = missing, triton = missing }]) => [
    work,
    ratioText(weir['cpu_us / triton']),
    ratioText(weir['rate / triton']),
    fixed(weir.cpu_us, 1),
    fixed(triton.cpu_us, 1),
    fixed(weir.rate, 0),
    fixed(triton.rate, 0),
    latencies(weir),
    latencies(triton),
    [...marksOf('Weir', weir), ...marksOf('Triton', triton)].join('; '),
  ]);
  return table(columns, rows);
};

/** Loads that Weir could not be measured under. */
export const peerFaults = (report: PeerReport): readonly string[] => [
  ...Object.entries(report.table).flatMap(([work, { weir = missing }]) => (weir.error === undefined ? [] : [`${work}: ${weir.error}`])),
  ...(report.cut === undefined ? [] : [report.cut]),
];
