import { rmSync } from 'node:fs';
import type { Bench } from './bench.ts';
import { section, table } from './measure/markdown.ts';
import { allowedGrowth, levelOf } from './measure/memory.ts';
import { startWeir } from './servers.ts';
import { afterWarmUp, exitTimeoutSeconds, judgeSoak } from './soak/judge.ts';
import { writeSoakRepository } from './soak/repository.ts';
import { runSoak, type Soak } from './soak/run-soak.ts';

const mostSampleSeconds = 10;
const mostWarmUpSeconds = 120;

const aboutOf = (minutes: number): string =>
  [
    `${minutes} minutes of mixed load on one server: small and 8 MiB tensors over every protocol, streams and connections that come and go, cancellations, clients that leave, bad requests. It fails`,
    `unless every request ends as it should; the median of resident memory over the last third of the time after the warm-up (two minutes, or a fifth of a shorter run) is at most ${allowedGrowth * 100} % above that over the first`,
    `third; no request waits, no instance is busy and no socket is left once the clients have gone; and the server ends with status 0 within ${exitTimeoutSeconds} s.`,
  ].join('\n');

const describe = (soak: Soak, minutes: number, faults: readonly string[], warmUpSamples: number): string => {
  const { earlyMiB, lateMiB } = levelOf(afterWarmUp(soak.residentMiB, warmUpSamples));
  const rows = [
    ...soak.loads.map(({ load, result }) => [`${load.protocol}, ${load.question.model}`, String(result.answered), String(result.failed)]),
    ...soak.visitors.map(({ name, visits, failed }) => [name, String(visits), String(failed)]),
  ];
  const verdict = faults.length === 0 ? '**Passed.**' : ['**Failed:**', ...faults.map((fault) => `- ${fault}`)].join('\n');
  return section(
    'Ten minutes of mixed load',
    'soak',
    aboutOf(minutes),
    table(['what', 'requests or visits', 'failed'], rows),
    `Resident memory in MiB, evenly over the time: ${soak.residentMiB.map((value) => value.toFixed(0)).join(' ')}`,
    `After the warm-up: ${earlyMiB.toFixed(0)} MiB in the first third, ${lateMiB.toFixed(0)} MiB in the last. ${soak.cancellations} requests were cancelled in the models. The server ended in ${soak.exitSeconds.toFixed(1)} s.`,
    verdict,
  );
};

/** Whether anything piles up in a server that has a hard time. */
export const soak: Bench = {
  isDefault: false,
  about: 'ten minutes of mixed load (--minutes): memory level, nothing left',
  run: async ({ minutes = 10 }) => {
    const durationMs = minutes * 60_000;
    const sampleMs = Math.min(mostSampleSeconds * 1000, durationMs / 30);
    const warmUpSamples = Math.ceil(Math.min(mostWarmUpSeconds * 1000, durationMs / 5) / sampleMs);
    const repository = writeSoakRepository();
    try {
      const server = await startWeir(repository, { flags: [`--exit-timeout-secs=${exitTimeoutSeconds}`] });
      try {
        const result = await runSoak(server, { durationMs, sampleMs });
        const faults = judgeSoak(result, warmUpSamples);
        return { section: describe(result, minutes, faults, warmUpSamples), faults };
      } finally {
        await server.stop();
      }
    } finally {
      rmSync(repository, { recursive: true });
    }
  },
};
