import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Bench, BenchPart } from './bench.ts';
import type { FloodResult, FloodRun } from './ensembles/flood-main.ts';
import { chainLengths, chainName, floats, floodFloats, writeEnsembles } from './ensembles/repository.ts';
import type { StepsRound, StepsRun } from './ensembles/steps-main.ts';
import { askProcess } from './measure/ask-process.ts';
import { compareModels } from './measure/compare-models.ts';
import { section, table } from './measure/markdown.ts';
import { median } from './measure/median.ts';
import { pinnedNote, serverCore } from './measure/pinned.ts';
import { startWeir } from './servers.ts';

/** What an ensemble of three steps answers of what one step does, at least. */
const leastRatio = 0.5;
const mostStepUs = 15;
const mostRiseMiB = 64;
const floodAnswers = 100_000;
const servedSteps = 3;

const serve = async (repository: string, rounds: number, measureMs: number): Promise<BenchPart> => {
  const server = await startWeir(repository, { core: serverCore });
  try {
    const { table, ratio, cpuRatio } = await compareModels({
      server,
      model: { name: chainName(servedSteps), title: `${servedSteps} steps` },
      beside: { name: 'identity', title: 'one model' },
      floats,
      rounds,
      measureMs,
    });
    return {
      text: [
        `### ${servedSteps} steps against one`,
        `FP32 [1,${floats}] over gRPC streams, 64 in flight, to the identity model and to an ensemble of ${servedSteps} times that model; ${pinnedNote}.`,
        table,
        `Medians: **${ratio.toFixed(2)}** by throughput, **${cpuRatio.toFixed(2)}** by processor time. The bar is ${leastRatio}.`,
      ].join('\n\n'),
      faults: ratio < leastRatio ? [`an ensemble of ${servedSteps} steps does ${ratio.toFixed(2)} of one model`] : [],
    };
  } finally {
    await server.stop();
  }
};

const countSteps = async (repository: string, rounds: number, measureMs: number): Promise<BenchPart> => {
  const run: StepsRun = { repository, rounds, measureMs, inFlight: 64 };
  const done = await askProcess<readonly StepsRound[]>(join(import.meta.dirname, 'ensembles', 'steps-main.ts'), run, serverCore);
  const medians = chainLengths.map((_, place) => median(done.map((round) => round[place]?.cpuUs ?? Number.NaN)));
  const stepUs = ((medians.at(-1) ?? Number.NaN) - (medians[0] ?? Number.NaN)) / (chainLengths.length - 1);
  return {
    text: [
      '### Each step in process',
      'The same ensembles without a transport, 64 in flight; CPU µs for each request.',
      table(
        chainLengths.map((steps) => `${steps} step${steps === 1 ? '' : 's'}`),
        done.map((round) => round.map(({ cpuUs }) => cpuUs.toFixed(2))),
      ),
      `Each further step: **${stepUs.toFixed(2)} µs**. The bar is ${mostStepUs} µs.`,
    ].join('\n\n'),
    faults: stepUs > mostStepUs ? [`a further step takes ${stepUs.toFixed(1)} µs`] : [],
  };
};

const flood = async (repository: string): Promise<BenchPart> => {
  const run: FloodRun = { repository, answers: floodAnswers };
  const result = await askProcess<FloodResult>(join(import.meta.dirname, 'ensembles', 'flood-main.ts'), run, serverCore);
  const { beforeMiB, peakMiB, seconds } = result;
  const riseMiB = peakMiB - beforeMiB;
  const wholeMiB = (floodAnswers * floodFloats * 4) / 2 ** 20;
  return {
    text: [
      '### A fast step into a slow one',
      `A decoupled JavaScript model gives ${floodAnswers.toLocaleString('en')} answers of ${floodFloats * 4} bytes (${wholeMiB.toFixed(0)} MiB in all) to a step that takes at most 8,000 in a second, in ${seconds.toFixed(0)} s.`,
      `Resident memory: ${beforeMiB.toFixed(0)} MiB before, ${peakMiB.toFixed(0)} MiB at most while they came: **${riseMiB.toFixed(0)} MiB** more. The bar is ${mostRiseMiB} MiB.`,
    ].join('\n\n'),
    faults: riseMiB >= mostRiseMiB ? [`memory rose by ${riseMiB.toFixed(0)} MiB`] : [],
  };
};

/** What ensembles cost, and whether they hold a fast step back. */
export const ensembles: Bench = {
  isDefault: true,
  about: 'ensembles: three steps against one, each step in process, memory under a fast step',
  run: async ({ rounds = 4, seconds = 2 }) => {
    const repository = writeEnsembles();
    try {
      const parts = [
        await serve(repository, rounds, seconds * 1000),
        await countSteps(repository, rounds, seconds * 1000),
        await flood(repository),
      ];
      return {
        section: section('Ensembles', 'ensembles', ...parts.map(({ text }) => text)),
        faults: parts.flatMap(({ faults }) => faults),
      };
    } finally {
      rmSync(repository, { recursive: true });
    }
  },
};
