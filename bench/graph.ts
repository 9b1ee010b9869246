import { join } from 'node:path';
import type { Bench } from './bench.ts';
import type { GraphPair, GraphRun } from './graph/main.ts';
import { askProcess } from './measure/ask-process.ts';
import { section, table } from './measure/markdown.ts';
import { median } from './measure/median.ts';
import { isPinned, serverCore } from './measure/pinned.ts';

const inFlight = 64;

const about = [
  `A model's graph in process, without server and transport (layers, queue, identity instance, statistics), ${inFlight} requests in flight, against a queue written by hand for this one model`,
  `(checks, a bound, batches at the end of the tick, the same counts, cancelling); ${isPinned ? 'one core' : 'not pinned, since taskset or a second core is missing'}.`,
].join(' ');

/** The graph alone, microseconds for each request. */
export const graph: Bench = {
  isDefault: true,
  about: 'the graph of a model in process, against a queue written by hand',
  run: async ({ rounds = 6, seconds = 2 }) => {
    const run: GraphRun = { rounds, measureMs: seconds * 1000, inFlight };
    const pairs = await askProcess<readonly GraphPair[]>(join(import.meta.dirname, 'graph', 'main.ts'), run, serverCore);
    const rows = pairs.map(({ graph, plain }) => [
      graph.cpuUs.toFixed(2),
      plain.cpuUs.toFixed(2),
      (graph.cpuUs / plain.cpuUs).toFixed(2),
      graph.wallUs.toFixed(2),
      plain.wallUs.toFixed(2),
    ]);
    const graphUs = median(pairs.map(({ graph }) => graph.cpuUs)).toFixed(2);
    const ratio = median(pairs.map(({ graph, plain }) => graph.cpuUs / plain.cpuUs)).toFixed(2);
    return {
      section: section(
        'The graph alone',
        'graph',
        about,
        table(['graph CPU µs', 'queue CPU µs', 'ratio', 'graph wall µs', 'queue wall µs'], rows),
        `Medians: **${graphUs} µs** of processor time for each request in the graph, **${ratio}** times the queue`,
      ),
      faults: [],
    };
  },
};
