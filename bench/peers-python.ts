import type { Bench } from './bench.ts';
import { section } from './measure/markdown.ts';
import { harnessFolder, howToGetIt, runHarness, weirCommand } from './peers/harness.ts';
import { type PeerReport, peerFaults, peerTable } from './peers/report.ts';

const about = [
  'The same `model.py`, an identity, in Weir and in Triton, one core for the server with its Python processes and one for the load, blocks in turn. W1: 16 floats, 64 in flight. W2: 1 MiB,',
  '4 in flight. CPU is that of all processes of the server for each request; ratios are medians of pairs with their 95 % interval. `g`: the generator was the limit; `~`: no block without noise.',
].join('\n');

/** Weir's Python models beside Triton's, by a harness that is no part of this repository. */
export const peersPython: Bench = {
  isDefault: false,
  about: 'Python models beside those of a real Triton; the variable WEIR_PEERS names the harness',
  run: async ({ rounds = 4, seconds = 3 }) => {
    const folder = harnessFolder();
    if (folder === undefined) return { section: undefined, faults: [howToGetIt] };
    const report = await runHarness<PeerReport>(folder, [
      '--all',
      '--peers=weir,triton',
      '--base=triton',
      '--works=W1,W2',
      '--protos=grpc-unary,grpc-stream',
      '--weir-identity=python',
      `--blocks=${rounds}`,
      `--seconds=${seconds}`,
      `--weir=${weirCommand}`,
    ]);
    return { section: section('Python models beside Triton', 'peers-python', about, peerTable(report)), faults: peerFaults(report) };
  },
};
