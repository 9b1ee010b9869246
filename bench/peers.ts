import type { Bench } from './bench.ts';
import { section } from './measure/markdown.ts';
import { harnessFolder, howToGetIt, runHarness, weirCommand } from './peers/harness.ts';
import { openLoopTable, type PairReport } from './peers/open-loop.ts';
import { type PeerReport, peerFaults, peerTable } from './peers/report.ts';

const works = ['W1', 'W2', 'W3d1', 'W6'];

const about = [
  'Weir beside Triton with its Python backend, one core for the server and one for the load, blocks in turn. W1: identity, 16 floats, 64 in flight. W2: identity, 1 MiB, 4 in flight.',
  'W3d1: a small MLP in batches of up to 32, delay 1 ms, 64 in flight. W6: the voice detector, 64 clients. CPU is that of all processes of the server for each request; ratios are medians of',
  'pairs with their 95 % interval. `g`: the generator was the limit; `~`: no block without noise.',
].join('\n');

const openLoopProtocols = ['grpc-unary', 'grpc-stream', 'http-binary'];

const aboutOpenLoop = 'W1 on a fixed schedule, at half of what Triton can do; latencies from the time at which a request was due.';

/** Weir beside a real Triton, by a harness that is no part of this repository. */
export const peers: Bench = {
  isDefault: false,
  about: 'beside a real Triton; the variable WEIR_PEERS names the harness',
  run: async ({ rounds = 4, seconds = 3, only }) => {
    const folder = harnessFolder();
    if (folder === undefined) return { section: undefined, faults: [howToGetIt] };
    const blocks = [`--blocks=${rounds}`, `--seconds=${seconds}`, `--weir=${weirCommand}`];
    const chosen = only.length > 0 ? only : works;
    const report = await runHarness<PeerReport>(folder, [
      '--all',
      '--peers=weir,triton',
      '--base=triton',
      `--works=${chosen.join(',')}`,
      ...blocks,
    ]);
    const parts = [about, peerTable(report)];
    if (chosen.includes('W1')) {
      const pairs: (readonly [string, PairReport])[] = [];
      for (const protocol of openLoopProtocols) {
        const args = ['--pair=weir,triton', '--work=W1', `--proto=${protocol}`, '--open=0.5', ...blocks];
        pairs.push([protocol, await runHarness<PairReport>(folder, args)]);
      }
      parts.push(aboutOpenLoop, openLoopTable(pairs));
    }
    return { section: section('Beside Triton', 'peers', ...parts), faults: peerFaults(report) };
  },
};
