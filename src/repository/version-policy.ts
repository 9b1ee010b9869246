import type { ConfigVersionPolicy } from './config/model-config.ts';

export interface VersionChoice {
  /** Ascending. */
  readonly served: readonly string[];
  /** Asked for by name and not there. */
  readonly missing: readonly string[];
}

const ascending = (versions: readonly string[]): readonly string[] =>
  versions.toSorted((a, b) => (BigInt(a) < BigInt(b) ? -1 : BigInt(a) > BigInt(b) ? 1 : 0));

/** Which of the versions on disk a model serves. `present` are decimal digits without leading zeros. */
export const chooseVersions = (policy: ConfigVersionPolicy, present: readonly string[]): VersionChoice => {
  const all = ascending(present);
  if ('all' in policy) return { served: all, missing: [] };
  if ('latest' in policy) {
    const count = policy.latest.num_versions;
    return { served: count === 0 ? [] : all.slice(-count), missing: [] };
  }
  const wanted = [...new Set(policy.specific.versions.map(String))];
  return { served: all.filter((version) => wanted.includes(version)), missing: wanted.filter((version) => !all.includes(version)) };
};
