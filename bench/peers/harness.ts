import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..', '..');

export const howToGetIt =
  'peers: set WEIR_PEERS to the folder of the side-by-side harness (the one with run.py and setup.sh), run its setup.sh once, and try again';

/** Where the checks put a Python with numpy, before all others. */
const path = `${join(root, '.venv', 'bin')}:${process.env.PATH ?? ''}`;

/** As the harness wants it: one line that its shell rules take apart, with its own names in braces. */
export const weirCommand = [
  'env',
  `'PATH=${path}'`,
  `'${process.execPath}'`,
  `'${join(root, 'src', 'main.ts')}'`,
  '--model-repository={repo}',
  '--http-port={http}',
  '--grpc-port={grpc}',
  '--metrics-port={metrics}',
].join(' ');

/** The folder of the harness; undefined where there is none. */
export const harnessFolder = (): string | undefined => {
  const folder = process.env.WEIR_PEERS;
  return folder !== undefined && existsSync(join(folder, 'run.py')) ? folder : undefined;
};

/** Runs the harness, which is no part of this repository. Rejects when it fails. */
export const runHarness = async <Report>(folder: string, args: readonly string[]): Promise<Report> => {
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
