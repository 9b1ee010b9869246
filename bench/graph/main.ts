import { identityBackend } from '../../src/backends/identity/identity-backend.ts';
import { useEngineFlags } from '../../src/cli/engine-flags.ts';
import { inTurn } from '../measure/in-turn.ts';
import { echoSpec } from './echo-spec.ts';
import type { Engine } from './engine.ts';
import { PlainQueue } from './plain-queue.ts';
import { PlainSteps } from './plain-steps.ts';
import { echoQuestions, type Questions, stepQuestions } from './questions.ts';
import { type Block, runBlock } from './run-block.ts';
import { stepBackend } from './step-backend.ts';
import { stepSpec } from './step-spec.ts';
import { startWeirGraph } from './weir-graph.ts';

export interface GraphRun {
  readonly model: 'batching' | 'sequences';
  readonly rounds: number;
  readonly measureMs: number;
  readonly inFlight: number;
}

export interface GraphPair {
  readonly graph: Block;
  readonly plain: Block;
}

interface Contest {
  readonly graph: Engine;
  readonly plain: Engine;
  readonly questions: Questions;
}

const contests: Readonly<Record<GraphRun['model'], () => Promise<Contest>>> = {
  batching: async () => ({
    graph: await startWeirGraph(echoSpec, identityBackend()),
    plain: new PlainQueue(echoSpec),
    questions: echoQuestions,
  }),
  sequences: async () => ({
    graph: await startWeirGraph(stepSpec, stepBackend),
    plain: new PlainSteps(stepSpec),
    questions: stepQuestions,
  }),
};

// With the flags that the server gives itself.
useEngineFlags();
// The graph and the queue in one process, A B B A: `node bench/graph/main.ts RUN`, where RUN is a `GraphRun` as JSON; prints pairs as JSON.
const { model, rounds, measureMs, inFlight }: GraphRun = JSON.parse(process.argv[2] ?? '');
const { questions, ...engines } = await contests[model]();
const run = (name: 'graph' | 'plain', forMs = measureMs): Promise<Block> =>
  runBlock({ engine: engines[name], questions, inFlight, measureMs: forMs });
for (const name of ['graph', 'plain', 'plain', 'graph'] as const) await run(name, 500);
const pairs = await inTurn(
  rounds,
  () => run('graph'),
  () => run('plain'),
);
for (const engine of Object.values(engines)) engine.stop();
console.log(JSON.stringify(pairs.map(([graph, plain]): GraphPair => ({ graph, plain }))));
