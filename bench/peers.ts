import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Bench } from './bench.ts';
import { section } from './measure/markdown.ts';
import { openLoopTable, type PairReport } from './peers/open-loop.ts';
import { type PeerReport, peerFaults, peerTable } from './peers/report.ts';

const root = join(import.meta.dirname, '..');
const works = ['W1', 'W2', 'W3d1', 'W6'];

const howToGetIt =
  'peers: set WEIR_PEERS to the folder of the side-by-side harness (the one with run.py and setup.sh), run its setup.sh once, and try again';

/** As the harness wants it: one line that its shell rules take apart, with its own names in braces. */
const weirCommand = [
  `'${process.execPath}'`,
  `'${join(root, 'src', 'main.ts')}'`,
  '--model-repository={repo}',
  '--http-port={http}',
  '--grpc-port={grpc}',
  '--metrics-port={metrics}',
].join(' ');

const about = [
  'Weir beside Triton with its Python backend, one core for the server and one for the load, blocks in turn. W1: identity, 16 floats, 64 in flight. W2: identity, 1 MiB, 4 in flight.',
  'W3d1: a small MLP in batches of up to 32, delay 1 ms, 64 in flight. W6: the voice detector, 64 clients. CPU is that of all processes of the server for each request; ratios are medians of',
  'pairs with their 95 % interval. `g`: the generator was the limit; `~`: no block without noise.',
].join('\n');

const openLoopProtocols = ['grpc-unary', 'grpc-stream', 'http-binary'];

const aboutOpenLoop = 'W1 on a fixed schedule, at half of what Triton can do; latencies from the time at which a request was due.';

const runHarness = async <Report>(folder: string, args: readonly string[]): Promise<Report> => {
  const scratch = mkdtempSync(join(tmpdir(), 'weir-peers-'));
  const out = join(scratch, 'peers.json');
  try {
    const child = spawn('python3', [join(folder, 'run.py'), ...args, `--out=${out}`], { stdio: ['ignore', 'inherit', 'inherit'] });
    const [code, signal] = await once(child, 'exit');
    if (code !== 0) throw new Error(`run.py ended with ${code ?? signal}`);
    return JSON.parse(readFileSync(out, 'utf8'));
  } finally {
    rmSync(scratch, { recursive: true });
  }
};

/** Weir beside a real Triton, by a harness that is no part of this repository. */
export const peers: Bench = {
  isDefault: false,
  about: 'beside a real Triton; the variable WEIR_PEERS names the harness',
  run: async ({ rounds = 4, seconds = 3, only }) => {
    const folder = process.env.WEIR_PEERS;
    if (folder === undefined || !existsSync(join(folder, 'run.py'))) return { section: undefined, faults: [howToGetIt] };
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
