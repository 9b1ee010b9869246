import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { CallsPair, CallsResult, CallsRun } from './backends/calls-main.ts';
import type { PythonPair, PythonRun } from './backends/python-main.ts';
import {
  callMs,
  calls,
  python as interpreter,
  pythonFloats,
  smallFloats,
  writeCallers,
  writeJavascriptModels,
  writePythonModels,
} from './backends/repository.ts';
import type { Bench, BenchPart, BenchResult } from './bench.ts';
import { askProcess } from './measure/ask-process.ts';
import { compareModels } from './measure/compare-models.ts';
import { section, table } from './measure/markdown.ts';
import { median } from './measure/median.ts';
import { pinnedNote, serverCore } from './measure/pinned.ts';
import { startWeir } from './servers.ts';

/** What JavaScript answers of what the built-in model does, at least. */
const leastJavascript = 0.6;
const mostPython = 2;
const leastBytesPerSecond = 1e9;
const mostCalls = 1.5;
const smallInFlight = [1, 8, 64] as const;

const javascript = async (rounds: number, measureMs: number): Promise<BenchPart> => {
  const repository = writeJavascriptModels();
  const server = await startWeir(repository, { core: serverCore });
  try {
    const { table, ratio, cpuRatio } = await compareModels({
      server,
      model: { name: 'javascript', title: 'JavaScript' },
      beside: { name: 'identity', title: 'built in' },
      floats: smallFloats,
      rounds,
      measureMs,
    });
    return {
      text: [
        '### JavaScript against the built-in identity',
        `FP32 [1,${smallFloats}] over gRPC streams, 64 in flight, batches of up to 8, to the same model in JavaScript and built in; ${pinnedNote}, the thread of the model too.`,
        table,
        `Medians: **${ratio.toFixed(2)}** by throughput, **${cpuRatio.toFixed(2)}** by processor time. The bar is ${leastJavascript}.`,
      ].join('\n\n'),
      faults: ratio < leastJavascript ? [`JavaScript does ${ratio.toFixed(2)} of the built-in identity`] : [],
    };
  } finally {
    await server.stop();
    rmSync(repository, { recursive: true });
  }
};

const pythonRow = ([model, bare]: PythonPair): readonly string[] => [
  model.cpuUs.toFixed(1),
  bare.cpuUs.toFixed(1),
  (model.cpuUs / bare.cpuUs).toFixed(2),
  model.wallUs.toFixed(1),
  bare.wallUs.toFixed(1),
];

const python = async (rounds: number, measureMs: number): Promise<BenchPart> => {
  const repository = writePythonModels();
  const ask = (size: PythonRun['size'], inFlight: number): Promise<readonly PythonPair[]> => {
    const run: PythonRun = { repository, size, rounds, measureMs, inFlight };
    return askProcess(join(import.meta.dirname, 'backends', 'python-main.ts'), run, serverCore);
  };
  try {
    const small: (readonly [inFlight: number, pairs: readonly PythonPair[]])[] = [];
    for (const inFlight of smallInFlight) small.push([inFlight, await ask('small', inFlight)]);
    const medium = await ask('medium', 8);
    const large = await ask('large', 4);
    const ratioOf = (pairs: readonly PythonPair[]): string =>
      `**${median(pairs.map(([model, bare]) => model.cpuUs / bare.cpuUs)).toFixed(2)}**`;
    // There and back.
    const bytes = 2 * 4 * pythonFloats.large;
    const rate = median(large.map(([model]) => (bytes * 1e6) / model.wallUs));
    const columns = ['model CPU µs', 'bare CPU µs', 'ratio', 'model wall µs', 'bare wall µs'];
    return {
      text: [
        '### Python against a bare process',
        `The identity model in Python, asked in process, against a Python process that does nothing but copy tensors in shared memory; processor time of all processes for each request, on one core. FP32 [1,${smallFloats}]; the model runs those in flight in one batch, the bare process reads and answers them together.`,
        table(
          ['in flight', ...columns],
          small.flatMap(([inFlight, pairs]) => pairs.map((pair) => [String(inFlight), ...pythonRow(pair)])),
        ),
        `Medians: ${small.map(([inFlight, pairs]) => `${ratioOf(pairs)} with ${inFlight} in flight`).join(', ')}. ${mostPython} would be good; the rest is what a model's API costs in Python, and the graph.`,
        'The same with 1 MiB, 8 in flight, in batches of up to 8:',
        table(columns, medium.map(pythonRow)),
        `Median: ${ratioOf(medium)}.`,
        'The same with 8 MiB, 4 in flight:',
        table(columns, large.map(pythonRow)),
        `Median: ${ratioOf(large)}.`,
        `To Python and back: **${(rate / 1e9).toFixed(2)} GB/s**. The bar is ${leastBytesPerSecond / 1e9} GB/s.`,
      ].join('\n\n'),
      faults: [...(rate < leastBytesPerSecond ? [`8 MiB tensors to Python and back at ${(rate / 1e9).toFixed(2)} GB/s`] : [])],
    };
  } finally {
    rmSync(repository, { recursive: true });
  }
};

const callRow = (backend: string, pairs: readonly CallsPair[]): readonly string[] => {
  const [many, one] = [median(pairs.map(([each]) => each)), median(pairs.map(([, each]) => each))];
  return [backend, many.toFixed(1), one.toFixed(1), median(pairs.map(([many, one]) => many / one)).toFixed(2)];
};

const callModels = async (rounds: number): Promise<BenchPart> => {
  const repository = writeCallers();
  try {
    const run: CallsRun = { repository, rounds };
    const result = await askProcess<CallsResult>(join(import.meta.dirname, 'backends', 'calls-main.ts'), run, undefined);
    const rows = Object.entries(result).map(([backend, pairs]) => callRow(backend, pairs));
    return {
      text: [
        `### ${calls} calls at once`,
        `A model that calls another one ${calls} times at once, against once; the called model takes ${callMs} ms and has ${calls} instances. Milliseconds for the caller's request, medians.`,
        table(['backend', `${calls} calls ms`, 'one call ms', 'ratio'], rows),
        `The bar is ${mostCalls}.`,
      ].join('\n\n'),
      faults: rows
        .filter(([, , , ratio]) => Number(ratio) > mostCalls)
        .map(([backend, , , ratio]) => `${backend}: ${calls} calls take ${ratio} times one`),
    };
  } finally {
    rmSync(repository, { recursive: true });
  }
};

const hasNumpy = (): boolean => spawnSync(interpreter, ['-c', 'import numpy'], { stdio: 'ignore' }).status === 0;

const run = async (rounds: number, measureMs: number): Promise<BenchResult> => {
  if (!hasNumpy()) return { section: undefined, faults: [`${interpreter} has no numpy: run \`npm test\` once, which puts one into .venv`] };
  const parts = [await javascript(rounds, measureMs), await python(rounds, measureMs), await callModels(4 * rounds)];
  return { section: section('Backends', 'backends', ...parts.map(({ text }) => text)), faults: parts.flatMap(({ faults }) => faults) };
};

/** What models in JavaScript and Python cost beside what they cannot do without. */
export const backends: Bench = {
  isDefault: true,
  about: 'models in JavaScript and Python against the least that can be had; calls between models',
  run: ({ rounds = 4, seconds = 2 }) => run(rounds, seconds * 1000),
};
