import { echoSpec } from './echo-spec.ts';
import { PlainQueue } from './plain-queue.ts';
import { type Block, runBlock } from './run-block.ts';
import { startWeirGraph } from './weir-graph.ts';

export interface GraphRun {
  readonly rounds: number;
  readonly measureMs: number;
  readonly inFlight: number;
}

export interface GraphPair {
  readonly graph: Block;
  readonly plain: Block;
}

// The graph and the queue in one process, A B B A: `node bench/graph/main.ts RUN`, where RUN is a `GraphRun` as JSON; prints pairs as JSON.
const { rounds, measureMs, inFlight }: GraphRun = JSON.parse(process.argv[2] ?? '');
const engines = { graph: await startWeirGraph(), plain: new PlainQueue(echoSpec) };
const run = (name: 'graph' | 'plain'): Promise<Block> => runBlock(engines[name], inFlight, measureMs);
for (const name of ['graph', 'plain', 'plain', 'graph'] as const) await runBlock(engines[name], inFlight, 500);
const pairs: GraphPair[] = [];
for (let round = 0; round < rounds; round++) {
  if (round % 2 === 0) {
    const graph = await run('graph');
    pairs.push({ graph, plain: await run('plain') });
  } else {
    const plain = await run('plain');
    pairs.push({ graph: await run('graph'), plain });
  }
}
for (const engine of Object.values(engines)) engine.stop();
console.log(JSON.stringify(pairs));
