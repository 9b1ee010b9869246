import { lastValueFrom, tap } from 'rxjs';
import { useEngineFlags } from '../../src/cli/engine-flags.ts';
import { Server } from '../../src/index.ts';

export interface FloodRun {
  readonly repository: string;
  readonly answers: number;
}

export interface FloodResult {
  /** Resident memory before, and the most of it while the answers came. */
  readonly beforeMiB: number;
  readonly peakMiB: number;
  readonly seconds: number;
}

const residentMiB = (): number => process.memoryUsage.rss() / 2 ** 20;

useEngineFlags();
// `node bench/ensembles/flood-main.ts RUN`, where RUN is a `FloodRun` as JSON; prints a `FloodResult`.
const { repository, answers }: FloodRun = JSON.parse(process.argv[2] ?? '');
const server = await Server.start({ modelRepository: repository });
/** Resolves with the most memory seen. Rejects when an answer is missing or out of order. */
const flood = async (count: number): Promise<number> => {
  let [seen, peakMiB] = [0, residentMiB()];
  const answer$ = server.model('flooded').infer({ inputs: { COUNT: { shape: [1], values: [count] } } });
  await lastValueFrom(
    answer$.pipe(
      tap((answer) => {
        if (answer.error !== undefined) throw answer.error;
        if (answer.values('SAME')[0] !== seen) throw new Error(`answer ${answer.values('SAME')[0]} in place of ${seen}`);
        if (++seen % 100 === 0) peakMiB = Math.max(peakMiB, residentMiB());
      }),
    ),
  );
  if (seen !== count) throw new Error(`${seen} answers of ${count}`);
  return peakMiB;
};
await flood(answers / 10);
const [beforeMiB, beganMs] = [residentMiB(), performance.now()];
const peakMiB = await flood(answers);
const result: FloodResult = { beforeMiB, peakMiB, seconds: (performance.now() - beganMs) / 1000 };
await server.close();
console.log(JSON.stringify(result));
