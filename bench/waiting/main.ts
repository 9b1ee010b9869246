import { useEngineFlags } from '../../src/cli/engine-flags.ts';
import type { Block } from '../graph/run-block.ts';
import { inTurn } from '../measure/in-turn.ts';
import { queues } from './queues.ts';
import { WaitingRun } from './waiting-run.ts';

export interface Waiting {
  readonly queue: keyof typeof queues;
  readonly rounds: number;
  readonly few: number;
  readonly many: number;
}

export interface WaitingPair {
  readonly few: Block;
  readonly many: Block;
}

// With the flags that the server gives itself.
useEngineFlags();
// Both in one process, A B B A: `node bench/waiting/main.ts RUN`, where RUN is a `Waiting` as JSON; prints pairs as JSON.
const { queue, rounds, few, many }: Waiting = JSON.parse(process.argv[2] ?? '');
const run = await WaitingRun.start(queues[queue]);
const runFew = (): Promise<Block> => run.block(few, many / few);
const runMany = (): Promise<Block> => run.block(many, 1);
await runFew();
await runMany();
const pairs = await inTurn(rounds, runFew, runMany);
run.stop();
console.log(JSON.stringify(pairs.map(([few, many]): WaitingPair => ({ few, many }))));
