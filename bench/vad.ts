import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Bench } from './bench.ts';
import type { Load, LoadResult } from './load/load.ts';
import { askProcess } from './measure/ask-process.ts';
import { section, table } from './measure/markdown.ts';
import { median } from './measure/median.ts';
import { type RunningWeir, startWeir } from './servers.ts';
import type { BareLoop } from './vad/bare-loop.ts';
import { vadQuestion, writeVadRepository } from './vad/repository.ts';

const clients = 64;
const perConnection = 8;
const warmUpMs = 1_000;

/** Answers per second. */
interface Round {
  readonly batched: number;
  readonly single: number;
  readonly bare: number;
}

/** Not pinned: the model's thread and the server's own share both cores with the load. */
const servedRate = async (server: RunningWeir, model: string, measureMs: number): Promise<number> => {
  const load: Load = {
    protocol: 'grpc-stream',
    port: server.ports['grpc-stream'],
    answeredBy: 'model',
    question: vadQuestion(model),
    connections: clients / perConnection,
    perConnection,
    streamsPerConnection: perConnection,
    warmUpMs,
    measureMs,
    serverPid: server.pid,
    serverCore: -1,
  };
  const { answered, failed, hung, fault, seconds } = await askProcess<LoadResult>(
    join(import.meta.dirname, 'load', 'main.ts'),
    load,
    undefined,
  );
  if (failed + hung > 0) throw new Error(`${failed + hung} requests of ${model} failed: ${fault}`);
  return answered / seconds;
};

const bareRate = async (measureMs: number): Promise<number> => {
  const loop: BareLoop = { rows: clients, warmUpMs, measureMs };
  const worker = new Worker(new URL('./vad/bare-loop.ts', import.meta.url), { workerData: loop });
  const [rate] = await once(worker, 'message');
  await once(worker, 'exit');
  return rate;
};

const runRound = async (server: RunningWeir, round: number, measureMs: number): Promise<Round> => {
  const measures = {
    batched: () => servedRate(server, 'vad_batched', measureMs),
    single: () => servedRate(server, 'vad_single', measureMs),
    bare: () => bareRate(measureMs),
  };
  const rates = { batched: 0, single: 0, bare: 0 };
  const order = ['batched', 'single', 'bare'] as const;
  for (const name of round % 2 === 0 ? order : order.toReversed()) rates[name] = await measures[name]();
  return rates;
};

const ratio = (rounds: readonly Round[], to: 'single' | 'bare'): string =>
  median(rounds.map((round) => round.batched / round[to])).toFixed(2);

const describe = (rounds: readonly Round[]): string => {
  const columns = ['batching', 'one at a time', 'bare loop', 'batching / one at a time', 'batching / bare loop'];
  const rows = rounds.map(({ batched, single, bare }) => [
    ...[batched, single, bare].map((rate) => rate.toFixed(0)),
    ...[batched / single, batched / bare].map((part) => part.toFixed(2)),
  ]);
  return section(
    'Voice detector: batching against none',
    'vad',
    `${clients} gRPC streams with one request in flight each, batching on and off; answers per second, server and load on the same two cores. The bare loop is onnxruntime-node in a worker, one batch of ${clients} after another with one thread, and nothing beside it.`,
    table(columns, rows),
    `Medians of the paired ratios: **${ratio(rounds, 'single')}** of one at a time, **${ratio(rounds, 'bare')}** of the bare loop`,
  );
};

/** What batching is worth, and how near the server comes to the model alone. */
export const vad: Bench = {
  isDefault: true,
  about: 'the voice detector: batching on, off, and the bare model',
  run: async ({ rounds = 4, seconds = 4 }) => {
    const repository = writeVadRepository();
    const server = await startWeir(repository);
    const done: Round[] = [];
    try {
      for (let round = 0; round < rounds; round++) done.push(await runRound(server, round, seconds * 1000));
    } finally {
      await server.stop();
      rmSync(repository, { recursive: true });
    }
    return { section: describe(done), faults: [] };
  },
};
