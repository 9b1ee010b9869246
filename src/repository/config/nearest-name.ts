/** Levenshtein distance. */
const distance = (a: string, b: string): number => {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(change, (previous[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1));
    }
    previous = row;
  }
  return previous[b.length] ?? 0;
};

/** The known name that `name` was probably meant to be; undefined when none is close. */
export const nearestName = (name: string, known: readonly string[]): string | undefined => {
  // Nobody misspells a long name into a known one, and the search costs the product of the lengths.
  if (name.length > 64) return undefined;
  const [best] = known
    .map((candidate) => ({ candidate, cost: distance(name.toLowerCase(), candidate.toLowerCase()) }))
    .toSorted((a, b) => a.cost - b.cost);
  return best !== undefined && best.cost <= (name.length < 4 ? 1 : Math.max(2, Math.floor(name.length / 3))) ? best.candidate : undefined;
};
