import { table } from '../measure/markdown.ts';
import { median } from '../measure/median.ts';

/** One measured block, as the harness writes it. */
interface OpenBlock {
  readonly good: boolean;
  readonly noisy: boolean;
  readonly rate: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
}

/** The part of the harness' JSON for one pair that is read here: blocks on a fixed schedule at half of the slower one's capacity. */
export interface PairReport {
  readonly 'open 0.5'?: Readonly<Record<string, readonly OpenBlock[]>>;
}

interface Side {
  readonly rate: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const sideOf = (blocks: readonly OpenBlock[] = []): Side | undefined => {
  const good = blocks.filter((block) => block.good);
  const quiet = good.filter((block) => !block.noisy);
  const taken = quiet.length > 0 ? quiet : good;
  if (taken.length === 0) return undefined;
  return {
    rate: median(taken.map(({ rate }) => rate)),
    p50Ms: median(taken.map(({ p50_ms }) => p50_ms)),
    p99Ms: median(taken.map(({ p99_ms }) => p99_ms)),
  };
};

const rowOf = (protocol: string, report: PairReport): readonly string[] => {
  const [weir, triton] = ['weir', 'triton'].map((name) => sideOf(report['open 0.5']?.[name]));
  if (weir === undefined || triton === undefined) return [protocol, '', '', '', 'not measured'];
  const latency = ({ p50Ms, p99Ms }: Side): string => `${p50Ms.toFixed(2)} / ${p99Ms.toFixed(2)}`;
  return [protocol, weir.rate.toFixed(0), latency(weir), latency(triton), `**${(weir.p99Ms / triton.p99Ms).toFixed(2)}**`];
};

export const openLoopTable = (reports: readonly (readonly [string, PairReport])[]): string =>
  table(
    ['protocol', 'requests/s', 'Weir p50 / p99 ms', 'Triton p50 / p99 ms', 'p99, Weir / Triton'],
    reports.map(([protocol, report]) => rowOf(protocol, report)),
  );
