const fromEnvironment = (name: string): number | undefined => {
  const text = process.env[name];
  if (text === undefined || text === '') return undefined;
  const value = Number(text);
  if (!Number.isInteger(value)) throw new Error(`${name} wants an integer, got ${text}`);
  return value;
};

/** Enough for a few hundred thousand runs. */
export const longestRunMs = 1_800_000;

/** Of every property: how often it is tried (WEIR_PROPERTY_RUNS) and from which seed (WEIR_PROPERTY_SEED, printed each time). */
export const propertyParameters = (): { readonly numRuns: number; readonly seed: number } => {
  const numRuns = fromEnvironment('WEIR_PROPERTY_RUNS') ?? 1000;
  const seed = fromEnvironment('WEIR_PROPERTY_SEED') ?? Math.floor(Math.random() * 2 ** 31);
  console.info(`${numRuns} runs, WEIR_PROPERTY_SEED=${seed}`);
  return { numRuns, seed };
};
