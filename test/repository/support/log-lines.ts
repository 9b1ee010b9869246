import type { Log } from '../../../src/streams/inference/log.ts';

export interface LogLines extends Log {
  /** `E …`, `W …`, `I …`, as they came. */
  readonly lines: readonly string[];
}

/** A log that is kept. */
export const logLines = (): LogLines => {
  const lines: string[] = [];
  return {
    lines,
    error: (message) => void lines.push(`E ${message}`),
    warning: (message) => void lines.push(`W ${message}`),
    info: (message) => void lines.push(`I ${message}`),
    verbose: () => undefined,
  };
};
