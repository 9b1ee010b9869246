import { useEngineFlags } from '../../src/cli/engine-flags.ts';
import type { Block } from '../graph/run-block.ts';
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
const pairs: WaitingPair[] = [];
for (let round = 0; round < rounds; round++) {
  if (round % 2 === 0) {
    const block = await runFew();
    pairs.push({ few: block, many: await runMany() });
  } else {
    const block = await runMany();
    pairs.push({ few: await runFew(), many: block });
  }
}
run.stop();
console.log(JSON.stringify(pairs));
