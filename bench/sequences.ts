import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Bench, BenchResult } from './bench.ts';
import { askProcess } from './measure/ask-process.ts';
import { section, table } from './measure/markdown.ts';
import { chunkMs, type RealTime, type RealTimeResult } from './sequences/real-time.ts';
import { startWeir } from './servers.ts';

const models = join(import.meta.dirname, '..', 'examples', 'models');
const vadModel = join(models, 'vad', '1', 'model.onnx');
const protocols = ['grpc-stream', 'websocket'] as const;
/** Streams that are tried: each is an eighth more than the one before. */
const growth = 1.125;
const fewest = 40;
const most = 1_000;

interface Detector {
  readonly name: 'graph' | 'naive';
  readonly port: (protocol: RealTime['protocol']) => number;
  stop(): Promise<unknown>;
}

interface Held {
  readonly streams: number;
  readonly p99Ms: number;
}

const startNaive = async (): Promise<Detector> => {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'sequences', 'naive-main.ts'), vadModel], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  for await (const line of createInterface(child.stdout)) {
    const ports: Readonly<Record<RealTime['protocol'], number>> = JSON.parse(line);
    const stop = async (): Promise<void> => {
      child.kill();
      await once(child, 'exit');
    };
    return { name: 'naive', port: (protocol) => ports[protocol], stop };
  }
  throw new Error('the naive server ended before it listened');
};

const startGraph = async (): Promise<Detector> => {
  const server = await startWeir(models);
  return { name: 'graph', port: (protocol) => server.ports[protocol], stop: () => server.stop() };
};

/** Whether so many streams are answered in real time; neither when an answer is wrong. */
const tryStreams = async (detector: Detector, load: Omit<RealTime, 'port'>): Promise<RealTimeResult> => {
  const script = join(import.meta.dirname, 'sequences', 'load-main.ts');
  const result = await askProcess<RealTimeResult>(script, { ...load, port: detector.port(load.protocol) }, undefined);
  if (result.fault !== '') throw new Error(`${detector.name}, ${load.protocol}, ${load.streams} streams: ${result.fault}`);
  return result;
};

/** The most streams whose 99th percentile stays within a chunk. One count that fails may be the machine's: it is tried twice. */
const mostStreams = async (detector: Detector, protocol: RealTime['protocol'], measureMs: number): Promise<Held> => {
  let held: Held = { streams: 0, p99Ms: 0 };
  for (let streams = fewest; streams <= most; streams = Math.ceil(streams * growth)) {
    const load = { protocol, model: 'vad', streams, warmUpMs: 2_000, measureMs };
    let result = await tryStreams(detector, load);
    if (result.p99Ms > chunkMs) result = await tryStreams(detector, load);
    if (result.p99Ms > chunkMs || result.missing > 0) break;
    held = { streams, p99Ms: result.p99Ms };
  }
  return held;
};

const run = async (measureMs: number): Promise<BenchResult> => {
  if (!existsSync(vadModel)) return { section: undefined, faults: ['the example models are not built: run `npm start` once'] };
  const rows: string[][] = [];
  const faults: string[] = [];
  for (const protocol of protocols) {
    const held: Record<Detector['name'], Held> = { graph: { streams: 0, p99Ms: 0 }, naive: { streams: 0, p99Ms: 0 } };
    for (const start of [startNaive, startGraph]) {
      const detector = await start();
      try {
        held[detector.name] = await mostStreams(detector, protocol, measureMs);
      } finally {
        await detector.stop();
      }
    }
    const { graph, naive } = held;
    const cells = [
      graph.streams,
      graph.p99Ms.toFixed(1),
      naive.streams,
      naive.p99Ms.toFixed(1),
      (graph.streams / naive.streams).toFixed(2),
    ];
    rows.push([protocol, ...cells.map(String)]);
    if (graph.streams < naive.streams) faults.push(`${protocol}: ${graph.streams} streams, ${naive.streams} without a graph`);
  }
  const about = `Audio streams that each send ${chunkMs} ms chunks in real time to the voice detector, whose state the server keeps; how many before the 99th percentile of the answers passes ${chunkMs} ms, server and load on the same two cores. The naive server is a queue, one worker and no graph.`;
  const columns = ['protocol', 'streams', 'p99 ms', 'naive: streams', 'p99 ms', 'ratio'];
  return { section: section('Sequences: streams in real time', 'sequences', about, table(columns, rows)), faults };
};

/** How many streams of audio the server can follow. */
export const sequences: Bench = {
  isDefault: true,
  about: 'the voice detector as a sequence model: audio streams in real time',
  run: ({ seconds = 4 }) => run(seconds * 1000),
};
