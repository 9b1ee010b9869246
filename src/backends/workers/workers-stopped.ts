const ending = new Set<Promise<void>>();

/** Counts a worker among those that `workersStopped` waits for, until `gone` resolves. */
export const trackEnding = (gone: Promise<void>): void => {
  ending.add(gone);
  void gone.then(() => ending.delete(gone));
};

/**
 * Resolves when no worker that was told to stop is left in this process. It waits as long as native code runs in one of them: whoever cannot
 * wait bounds it, and must then not leave by `process.exit`, which aborts while a worker is inside native code.
 */
export const workersStopped = async (): Promise<void> => {
  while (ending.size > 0) await Promise.all(ending);
};
