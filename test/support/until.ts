import { setImmediate } from 'node:timers/promises';

/** Lets the event loop turn until it is so; the test's own time-out is the limit. */
export const until = async (isSo: () => boolean): Promise<void> => {
  while (!isSo()) await setImmediate();
};
