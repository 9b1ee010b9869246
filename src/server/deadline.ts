import { once } from 'node:events';

/** A time by which something has to be over. */
export interface Deadline {
  readonly signal: AbortSignal;
  /** Resolves to whether `work` ended before the time was up; work that failed has ended. */
  isMet(work: Promise<unknown>): Promise<boolean>;
  /** Frees the timer. */
  cancel(): void;
}

export const startDeadline = (seconds: number): Deadline => {
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(), seconds * 1000);
  return {
    signal: over.signal,
    isMet: async (work) => {
      if (over.signal.aborted) return false;
      const settled = new AbortController();
      const met = work.then(
        () => true,
        () => true,
      );
      const missed = once(over.signal, 'abort', { signal: settled.signal }).then(
        () => false,
        () => false,
      );
      const isMet = await Promise.race([met, missed]);
      settled.abort();
      return isMet;
    },
    cancel: () => clearTimeout(timer),
  };
};
