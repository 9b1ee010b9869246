import type { Log } from '../../streams/inference/log.ts';
import { frameFlags } from './frames.ts';

/** A line that a model has written, of the level that the message's flags give. */
export const writeLog = (log: Log, flags: number, message: string): void => {
  const level = flags & ~frameFlags.inline;
  if (level === 0) log.info(message);
  else if (level === 1) log.warning(message);
  else if (level === 2) log.error(message);
  else log.verbose(1, message);
};
