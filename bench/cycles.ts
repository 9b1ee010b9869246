import type { Bench } from './bench.ts';
import { type Cycles, runCycles } from './cycles/run-cycles.ts';
import { section } from './measure/markdown.ts';
import { allowedGrowth, levelOf } from './measure/memory.ts';

const count = 200;
const heapPerCycleKiB = 64;

const about = [
  `${count} starts and stops of a server in one process, with two backends, every port, and work on each. It fails unless no handle is left that keeps the process alive (timers, sockets), no thread is left that`,
  `a single cycle does not leave, the heap after a collection grew by less than ${heapPerCycleKiB} KiB for each cycle, and resident memory is level in the second half of the time (its last third at most ${allowedGrowth * 100} % above its`,
  'first).',
].join('\n');

const mib = (bytes: number): string => (bytes / 2 ** 20).toFixed(1);

const secondHalf = (samples: readonly number[]): readonly number[] => samples.slice(Math.floor(samples.length / 2));

/** The output of the child is a pipe to here. */
const handlesOf = ({ after }: Cycles): readonly string[] => after.handles.filter((name) => name !== 'PipeWrap');

/** Threads of `all` beyond those of one cycle, by name. */
const extraThreads = (all: readonly string[], ofOne: readonly string[]): readonly string[] => {
  const expected = [...ofOne];
  return all.filter((name) => {
    // The pool of libuv has four threads in the end, however many of them one cycle has needed.
    if (name.startsWith('libuv-worker')) return false;
    const index = expected.indexOf(name);
    if (index >= 0) expected.splice(index, 1);
    return index < 0;
  });
};

const judge = (all: Cycles, one: Cycles): readonly string[] => {
  const faults: string[] = [];
  const handles = handlesOf(all);
  if (handles.length > 0) faults.push(`handles are left: ${handles.join()}`);
  const threads = extraThreads(all.threads, one.threads);
  if (threads.length > 0) faults.push(`threads are left: ${threads.join()}`);
  const grown = all.after.heapUsed - all.first.heapUsed;
  if (grown > count * heapPerCycleKiB * 1024) faults.push(`the heap grew by ${mib(grown)} MiB`);
  const { earlyMiB, lateMiB, isLevel } = levelOf(secondHalf(all.residentMiB));
  if (!isLevel) faults.push(`resident memory grew from ${earlyMiB.toFixed(0)} to ${lateMiB.toFixed(0)} MiB in the second half`);
  return faults;
};

const describe = ({ first, after, residentMiB }: Cycles, faults: readonly string[]): string => {
  const { earlyMiB, lateMiB } = levelOf(secondHalf(residentMiB));
  return section(
    'Starts and stops',
    'cycles',
    about,
    `Heap ${mib(first.heapUsed)} MiB after the first, ${mib(after.heapUsed)} MiB after the last; beside it ${mib(first.external)} and ${mib(after.external)} MiB. Resident memory in the second half: ${earlyMiB.toFixed(0)} MiB in its first third, ${lateMiB.toFixed(0)} MiB in its last.`,
    faults.length === 0 ? '**Passed.**' : ['**Failed:**', ...faults.map((fault) => `- ${fault}`)].join('\n'),
  );
};

/** Whether a program can start and stop servers for ever. */
export const cycles: Bench = {
  isDefault: false,
  about: `${count} starts and stops in one process: nothing left, no growing memory`,
  run: async () => {
    const one = await runCycles(1);
    const all = await runCycles(count);
    const faults = judge(all, one);
    return { section: describe(all, faults), faults };
  },
};
