import { useEngineFlags } from '../../src/cli/engine-flags.ts';
import { Server } from '../../src/index.ts';
import { inTurn } from '../measure/in-turn.ts';
import { calls } from './repository.ts';

export interface CallsRun {
  readonly repository: string;
  readonly rounds: number;
}

/** Milliseconds for one request that makes many calls at once, and for one that makes a single call. */
export type CallsPair = readonly [many: number, one: number];

export type CallsResult = Readonly<Record<'javascript' | 'python', readonly CallsPair[]>>;

useEngineFlags();
// `node bench/backends/calls-main.ts RUN`, where RUN is a `CallsRun` as JSON; prints a `CallsResult`.
const { repository, rounds }: CallsRun = JSON.parse(process.argv[2] ?? '');
const server = await Server.start({ modelRepository: repository });
const ask = async (model: string, count: number): Promise<number> => {
  const beganMs = performance.now();
  const answer = await server.model(model).inferOnce({ inputs: { CALLS: { shape: [1], values: [count] } } });
  if (answer.values('ANSWERS')[0] !== count) throw new Error(`${answer.values('ANSWERS')[0]} answers of ${count}`);
  return performance.now() - beganMs;
};
const contest = async (model: string): Promise<readonly CallsPair[]> => {
  await ask(model, calls);
  return inTurn(
    rounds,
    () => ask(model, calls),
    () => ask(model, 1),
  );
};
const result: CallsResult = { javascript: await contest('javascript'), python: await contest('python') };
await server.close();
console.log(JSON.stringify(result));
