/** Does `load` for every item, at most `limit` at a time. Rejects with the first failure. */
export const loadAll = async <T>(items: readonly T[], limit: number, load: (item: T) => Promise<void>): Promise<void> => {
  // One iterator for all: whoever is free takes the next item.
  const rest = items.values();
  const work = async (): Promise<void> => {
    for (const item of rest) await load(item);
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, work));
};
