import { join } from 'node:path';
import type { Bench } from './bench.ts';
import { askProcess } from './measure/ask-process.ts';
import { section, table } from './measure/markdown.ts';
import { median } from './measure/median.ts';
import { isPinned, serverCore } from './measure/pinned.ts';
import type { Waiting, WaitingPair } from './waiting/main.ts';

const few = 1_000;
const many = 100_000;
/** How many times as long a request may take among the many. */
const bar = 3;

const parts: readonly { readonly queue: Waiting['queue']; readonly title: string }[] = [
  { queue: 'priorities', title: 'Dynamic batching with eight priority levels and time-outs, half of the requests cancelled at random' },
  {
    queue: 'sequences',
    title: 'Sequences of ten requests, nearly all in the backlog, with time-outs; of every second one a request is cancelled',
  },
];

const about = [
  `Requests that wait behind a busy instance, in process: the time of each from its arrival to its answer or cancellation, all of it, with ${few} waiting and with ${many};`,
  isPinned ? 'one core.' : 'not pinned, since taskset or a second core is missing.',
].join(' ');

const rowOf = ({ few, many }: WaitingPair): readonly string[] => [
  few.cpuUs.toFixed(2),
  many.cpuUs.toFixed(2),
  (many.cpuUs / few.cpuUs).toFixed(2),
];

/** What a request costs beside many others that wait. */
export const waiting: Bench = {
  isDefault: true,
  about: `requests among ${many} that wait, against ${few}; fails where they take more than ${bar} times as long`,
  run: async ({ rounds = 5 }) => {
    const texts: string[] = [];
    const faults: string[] = [];
    for (const { queue, title } of parts) {
      const run: Waiting = { queue, rounds, few, many };
      const pairs = await askProcess<readonly WaitingPair[]>(join(import.meta.dirname, 'waiting', 'main.ts'), run, serverCore);
      const ratio = median(pairs.map(({ few, many }) => many.cpuUs / few.cpuUs));
      texts.push(
        `### ${title}`,
        table([`CPU µs, ${few} waiting`, `CPU µs, ${many} waiting`, 'ratio'], pairs.map(rowOf)),
        `Median: **${ratio.toFixed(2)}** times the processor time. The bar is ${bar}.`,
      );
      if (ratio > bar) faults.push(`${queue}: ${ratio.toFixed(2)} times the time of ${few} waiting, more than ${bar}`);
    }
    return { section: section('Many requests waiting', 'waiting', about, ...texts), faults };
  },
};
