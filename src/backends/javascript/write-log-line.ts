import type { Log } from '../../streams/inference/log.ts';
import type { LogLine } from './worker-protocol.ts';

/** Writes a line of a model to the server's log, with the name of who said it. */
export const writeLogLine = (log: Log, name: string, { severity, text }: LogLine): void => {
  const line = `${name}: ${text}`;
  if (typeof severity === 'number') log.verbose(severity, line);
  else log[severity](line);
};
