import { closest, distance } from 'fastest-levenshtein';
import type { Flag } from './flag.ts';

/** Which flags a name may stand for: itself, or every flag that it begins. */
export const flagsByPrefix = (flags: readonly Flag[]): ReadonlyMap<string, readonly Flag[]> => {
  const meant = new Map<string, Flag[]>();
  for (const flag of flags) {
    for (let length = 1; length < flag.name.length; length++) {
      const prefix = flag.name.slice(0, length);
      meant.set(prefix, [...(meant.get(prefix) ?? []), flag]);
    }
  }
  // Last, since a whole name stands for its own flag alone, even where it begins a longer one.
  for (const flag of flags) meant.set(flag.name, [flag]);
  return meant;
};

/** The known name that looks most like `name`; undefined when none looks much like it. */
export const nearestName = (name: string, flags: readonly Flag[]): string | undefined => {
  const nearest = closest(
    name,
    flags.map((flag) => flag.name),
  );
  return distance(name, nearest) <= Math.ceil(name.length / 2) ? nearest : undefined;
};
