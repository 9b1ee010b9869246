import { vi } from 'vitest';

const fromEnvironment = (name: string, smallest: number): number | undefined => {
  const text = process.env[name];
  if (text === undefined || text === '') return undefined;
  const value = Number(text);
  if (!Number.isInteger(value) || value < smallest) throw new Error(`${name} wants an integer from ${smallest} on, got ${text}`);
  return value;
};

const usualRuns = 2000;
const runs = fromEnvironment('WEIR_PROPERTY_RUNS', 1) ?? usualRuns;
const seed = fromEnvironment('WEIR_PROPERTY_SEED', -(2 ** 31)) ?? Math.floor(Math.random() * 2 ** 31);

console.info(`${runs} runs, WEIR_PROPERTY_SEED=${seed}`);
const limitMs = 60_000 * Math.max(1, runs / 1000);
// For each property of the file that imports this one. It ends by itself before that, with what it has found.
vi.setConfig({ testTimeout: 2 * limitMs });

export interface PropertyParameters {
  readonly numRuns: number;
  readonly seed: number;
  readonly interruptAfterTimeLimit: number;
  readonly markInterruptAsFailure: boolean;
}

/**
 * Of every property: how often it is tried (WEIR_PROPERTY_RUNS) and from which seed (WEIR_PROPERTY_SEED, printed for each file). `share` is the
 * part of those runs that a property takes: below 1 for one whose runs are slow.
 */
export const propertyParameters = (share = 1): PropertyParameters => ({
  numRuns: Math.max(1, Math.round(runs * share)),
  seed,
  interruptAfterTimeLimit: limitMs,
  markInterruptAsFailure: true,
});
