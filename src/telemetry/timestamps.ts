import { epochMs, machineScheduler } from '../streams/flow/clock.ts';

export type LogFormat = 'default' | 'ISO8601';

/** How far the fine clock may stray from the machine's time of day before it is set again. */
const largestDriftMs = 2;

/**
 * Milliseconds since 1970 with their fraction: the time of day counts whole milliseconds only, so a finer clock that is set by it counts
 * between them.
 */
export const createFineClock = (): (() => number) => {
  let originMs = epochMs() - machineScheduler.now();
  return () => {
    const dayMs = epochMs();
    const nowMs = machineScheduler.now();
    if (Math.abs(originMs + nowMs - dayMs) > largestDriftMs) originMs = dayMs - nowMs;
    return originMs + nowMs;
  };
};

/**
 * The head of a line up to the part of the server that speaks, in UTC: `I0520 20:03:25.829575 123` with microseconds, or
 * `2024-05-20T20:03:26Z I 123`.
 */
export const lineHead = (format: LogFormat, letter: string, timeMs: number, processId: number): string => {
  const iso = new Date(timeMs).toISOString();
  if (format === 'ISO8601') return `${iso.slice(0, 19)}Z ${letter} ${processId}`;
  const microseconds = Math.floor((timeMs - Math.floor(timeMs)) * 1000);
  return `${letter}${iso.slice(5, 7)}${iso.slice(8, 10)} ${iso.slice(11, 23)}${String(microseconds).padStart(3, '0')} ${processId}`;
};
