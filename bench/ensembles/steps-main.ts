import { useEngineFlags } from '../../src/cli/engine-flags.ts';
import { type AskResult, askLoop } from '../in-process/ask-loop.ts';
import { checkFloats, floatsRequest } from '../in-process/floats.ts';
import { openServer } from '../in-process/open-server.ts';
import { chainLengths, chainName, floats } from './repository.ts';

export interface StepsRun {
  readonly repository: string;
  readonly rounds: number;
  readonly measureMs: number;
  readonly inFlight: number;
}

/** Of ensembles of one step, two, three and four. */
export type StepsRound = readonly AskResult[];

useEngineFlags();
// `node bench/ensembles/steps-main.ts RUN`, where RUN is a `StepsRun` as JSON; prints rounds as JSON.
const { repository, rounds, measureMs, inFlight }: StepsRun = JSON.parse(process.argv[2] ?? '');
const { dataPlane, close } = await openServer(repository);
const run = (steps: number, forMs: number): Promise<AskResult> => {
  const model = dataPlane.model(chainName(steps), '');
  const request = floatsRequest(model.spec, floats);
  return askLoop({ model, request, inFlight, measureMs: forMs, check: (response) => checkFloats(response, floats) });
};
for (const steps of chainLengths) await run(steps, 1_000);
const done: StepsRound[] = [];
for (let round = 0; round < rounds; round++) {
  const results = new Map<number, AskResult>();
  for (const steps of round % 2 === 0 ? chainLengths : chainLengths.toReversed()) results.set(steps, await run(steps, measureMs));
  done.push(chainLengths.flatMap((steps) => results.get(steps) ?? []));
}
await close();
console.log(JSON.stringify(done));
