import { join } from 'node:path';
import type { Bench } from './bench.ts';
import type { GraphPair, GraphRun } from './graph/main.ts';
import { askProcess } from './measure/ask-process.ts';
import { section, table } from './measure/markdown.ts';
import { median } from './measure/median.ts';
import { isPinned, serverCore } from './measure/pinned.ts';

const inFlight = 64;

/** Of one model, and the most processor time that a request in its graph may take. */
interface Part {
  readonly model: GraphRun['model'];
  readonly title: string;
  readonly barUs: number;
}

const parts: readonly Part[] = [
  { model: 'batching', title: 'Dynamic batching', barUs: 4 },
  { model: 'sequences', title: 'Sequences: oldest, four control inputs, one state of 1 KiB; a hundred steps each', barUs: 6 },
];

const about = [
  `A model's graph in process, without server and transport (layers, queue, an instance in place, statistics), ${inFlight} requests in flight, against a queue written by hand for this one model`,
  `(checks, a bound, batches at the end of the tick, the same counts, cancelling; of sequences also the control inputs and the state); ${isPinned ? 'one core' : 'not pinned, since taskset or a second core is missing'}.`,
].join(' ');

const rowOf = ({ graph, plain }: GraphPair): readonly string[] => [
  graph.cpuUs.toFixed(2),
  plain.cpuUs.toFixed(2),
  (graph.cpuUs / plain.cpuUs).toFixed(2),
  graph.wallUs.toFixed(2),
  plain.wallUs.toFixed(2),
];

/** The graph alone, microseconds for each request. */
export const graph: Bench = {
  isDefault: true,
  about: 'the graph of a model in process, against a queue written by hand',
  run: async ({ rounds = 6, seconds = 2 }) => {
    const texts: string[] = [];
    const faults: string[] = [];
    for (const { model, title, barUs } of parts) {
      const run: GraphRun = { model, rounds, measureMs: seconds * 1000, inFlight };
      const pairs = await askProcess<readonly GraphPair[]>(join(import.meta.dirname, 'graph', 'main.ts'), run, serverCore);
      const graphUs = median(pairs.map(({ graph }) => graph.cpuUs));
      const ratio = median(pairs.map(({ graph, plain }) => graph.cpuUs / plain.cpuUs));
      texts.push(
        `### ${title}`,
        table(['graph CPU µs', 'queue CPU µs', 'ratio', 'graph wall µs', 'queue wall µs'], pairs.map(rowOf)),
        `Medians: **${graphUs.toFixed(2)} µs** of processor time for each request in the graph, **${ratio.toFixed(2)}** times the queue. The bar is ${barUs} µs.`,
      );
      if (graphUs > barUs) faults.push(`${model}: ${graphUs.toFixed(2)} µs for each request, more than ${barUs}`);
    }
    return { section: section('The graph alone', 'graph', about, ...texts), faults };
  },
};
