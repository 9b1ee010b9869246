import { distance } from 'fastest-levenshtein';

/** The known name that `name` was probably meant to be; undefined when none is close. */
export const nearestName = (name: string, known: readonly string[]): string | undefined => {
  // Nobody misspells a long name into a known one, and the search costs the product of the lengths.
  if (name.length > 64) return undefined;
  const [best] = known
    .map((candidate) => ({ candidate, cost: distance(name.toLowerCase(), candidate.toLowerCase()) }))
    .toSorted((a, b) => a.cost - b.cost);
  return best !== undefined && best.cost <= (name.length < 4 ? 1 : Math.max(2, Math.floor(name.length / 3))) ? best.candidate : undefined;
};
