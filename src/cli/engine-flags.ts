/**
 * V8's flags for a server, chosen by measuring (`bench/RESULTS.md`, "V8 flags"). Nearly all that a request makes is garbage when it has been answered,
 * so the time that a collection takes is that of what is in flight; with the young generation of a desktop program it comes rarely and then holds
 * everything up for 10 to 20 ms.
 */
const engineFlags = ['--max-semi-space-size=4', '--single-threaded-gc'];

const isGivenByHand = (): boolean => [...process.execArgv, process.env.NODE_OPTIONS ?? ''].some((flag) => flag.includes('semi-space-size'));

/**
 * Starts the program again, in place of itself, with the flags: V8 reads them before any code of ours runs. Whoever sets the size of the young
 * generation by hand has it so. Without effect where a process cannot be replaced (Windows, and Node before 22.15).
 */
export const useEngineFlags = (): void => {
  if (process.execve === undefined || isGivenByHand()) return;
  process.execve(process.execPath, [process.execPath, ...engineFlags, ...process.execArgv, ...process.argv.slice(1)], process.env);
};
