/**
 * V8's flags for a server, chosen by measuring processor time and the 99th percentile (`bench/README.md`). Nearly all that a request makes is
 * garbage once it is answered, so a collection of the young generation is short, and threads that share it out cost more than they save: on one
 * core they made the 99th percentile of small requests five times as long. A generation of 4 MB collects four times as often for nothing, one of
 * 64 MB no longer fits the caches.
 */
const engineFlags = ['--max-semi-space-size=16', '--single-threaded-gc'];

const isGivenByHand = (): boolean => [...process.execArgv, process.env.NODE_OPTIONS ?? ''].some((flag) => flag.includes('semi-space-size'));

/**
 * Starts the program again, in place of itself, with the flags: V8 reads them before any code of ours runs. Whoever sets the size of the young
 * generation by hand has it so. Without effect where a process cannot be replaced (Windows, and Node before 22.15).
 */
export const useEngineFlags = (): void => {
  if (process.execve === undefined || isGivenByHand()) return;
  process.execve(process.execPath, [process.execPath, ...engineFlags, ...process.execArgv, ...process.argv.slice(1)], process.env);
};
