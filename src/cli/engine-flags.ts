/**
 * V8's flags for a server, chosen by measuring processor time and the 99th percentile (`bench/README.md`). Nearly all that a request makes is
 * garbage once it is answered, so a collection of the young generation is short, and threads that share it out cost more than they save: on one
 * core they made the 99th percentile of small requests five times as long. A generation of 4 MB collects four times as often for nothing, one of
 * 64 MB no longer fits the caches.
 *
 * Objects that V8 has seen survive it makes in the old generation from then on. Node's lists of what is to be called next are among them, and each of these
 * keeps a gRPC call alive until the next full collection: that was half of the 99th percentile.
 *
 * `gc` is for `src/streams/tensors/young-buffers.ts`. A full collection is due when the old generation has grown to three times of what the last one left:
 * left alone, V8 takes as little as a tenth more, and the buffers of a few large tensors are that much.
 */
const engineFlags = [
  '--max-semi-space-size=16',
  '--single-threaded-gc',
  '--no-allocation-site-pretenuring',
  '--expose-gc',
  '--heap-growing-percent=200',
];

/**
 * What glibc keeps of freed memory, read by it as the program starts. Left alone it gives the memory of each large tensor back and takes new pages for the
 * next one, each with a page fault: that was a sixth of the processor time at 1 MiB. 128 MiB stay at most at the heap's end, and only tensors above
 * 32 MiB have pages of their own.
 */
const allocator: Readonly<Record<string, string>> = {
  MALLOC_TRIM_THRESHOLD_: String(128 * 2 ** 20),
  MALLOC_MMAP_THRESHOLD_: String(32 * 2 ** 20),
};

const isGivenByHand = (): boolean => [...process.execArgv, process.env.NODE_OPTIONS ?? ''].some((flag) => flag.includes('semi-space-size'));

/** They are for this program, not for those that it starts. */
const forgetAllocator = (): void => {
  for (const [name, value] of Object.entries(allocator)) if (process.env[name] === value) delete process.env[name];
};

/**
 * Starts the program again, in place of itself, with the flags and the settings of the allocator: both are read before any code of ours runs. Whoever
 * sets the size of the young generation by hand has all of it as it is. Without effect where a process cannot be replaced (Windows, and Node before
 * 22.15).
 */
export const useEngineFlags = (): void => {
  if (process.execve === undefined) return;
  if (isGivenByHand()) {
    forgetAllocator();
    return;
  }
  const env = { ...allocator, ...process.env };
  process.execve(process.execPath, [process.execPath, ...engineFlags, ...process.execArgv, ...process.argv.slice(1)], env);
};
