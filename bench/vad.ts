import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { median } from './median.ts';
import { startServer } from './servers.ts';
import type { StreamLoad, StreamLoadResult } from './stream-load.ts';

const root = join(import.meta.dirname, '..');
const streams = 64;

/** The voice detector twice: as it is, and with the default scheduler, which runs one request at a time. */
const writeRepository = (): string => {
  const repository = mkdtempSync(join(tmpdir(), 'weir-bench-'));
  const source = join(root, 'examples', 'models', 'vad');
  for (const name of ['vad_batched', 'vad_single']) {
    mkdirSync(join(repository, name));
    cpSync(join(source, '1'), join(repository, name, '1'), { recursive: true });
    const config = readFileSync(join(source, 'config.pbtxt'), 'utf8').replace('name: "vad"', `name: "${name}"`);
    writeFileSync(join(repository, name, 'config.pbtxt'), name === 'vad_single' ? config.replace('dynamic_batching { }', '') : config);
  }
  return repository;
};

const runLoad = (load: StreamLoad): Promise<StreamLoadResult> =>
  new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./stream-load.ts', import.meta.url), { workerData: load });
    worker.once('message', resolve).once('error', reject);
  });

/** 64 concurrent gRPC streams, batching on against off, in turn (A B B A), server and load on the same machine. */
export const benchVad = async (rounds: number): Promise<string> => {
  const repository = writeRepository();
  const server = await startServer(repository);
  const rate = async (model: string): Promise<number> => {
    const load = { address: `127.0.0.1:${server.grpcPort}`, model, streams, warmUpMs: 1_000, measureMs: 4_000 };
    const { answered, failed, seconds } = await runLoad(load);
    if (failed > 0) throw new Error(`${failed} answers of ${model} were errors`);
    return answered / seconds;
  };
  const pairs: { batched: number; single: number }[] = [];
  try {
    for (let round = 0; round < rounds; round++) {
      const first = round % 2 === 0 ? 'vad_batched' : 'vad_single';
      const second = round % 2 === 0 ? 'vad_single' : 'vad_batched';
      const rates = new Map([
        [first, await rate(first)],
        [second, await rate(second)],
      ]);
      pairs.push({ batched: rates.get('vad_batched') ?? 0, single: rates.get('vad_single') ?? 0 });
    }
  } finally {
    await server.stop();
    rmSync(repository, { recursive: true });
  }
  const ratio = median(pairs.map(({ batched, single }) => batched / single));
  const rows = pairs.map(({ batched, single }) => `| ${batched.toFixed(0)} | ${single.toFixed(0)} | ${(batched / single).toFixed(2)} |`);
  return [
    '## Voice detector: batching against none',
    '',
    `${streams} gRPC streams with one request in flight each; answers per second, server and load on the same two cores, in turn.`,
    '',
    '| batching | one at a time | ratio |',
    '|---|---|---|',
    ...rows,
    '',
    `Median of the paired ratios: **${ratio.toFixed(2)}**`,
  ].join('\n');
};
